"""Costs of a network on boards: from a graph and boards to a splitting problem."""
