"""Tables of splits, Pareto fronts and simulated arrivals."""
