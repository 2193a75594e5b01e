"""Random layers for the kernels, compiled and run on the host or on a virtual board."""
