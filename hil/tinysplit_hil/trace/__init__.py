"""Times of layers and transfers from the trace of a logic analyser at the markers of the boards."""
