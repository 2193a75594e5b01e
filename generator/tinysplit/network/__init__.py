"""The network: graph, layers, fixed-point arithmetic, integer and float references, samples."""
