"""Design-space exploration: Pareto fronts over networks, sets of boards, baud rates and bit widths."""
