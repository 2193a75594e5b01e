"""Exact label setting for networks with branches: a resource-constrained shortest path in a graph of states."""
