"""Exact label setting for every network: a resource-constrained shortest path in a graph of states."""
