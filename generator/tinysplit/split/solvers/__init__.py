"""Search for an optimal assignment: the label search, and what it shares with the solvers of `papers/`."""
