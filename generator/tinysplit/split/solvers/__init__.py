"""Search for the best assignment: one module or package a solver."""
