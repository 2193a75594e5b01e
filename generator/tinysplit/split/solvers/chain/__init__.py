"""Exact label setting for chains: a resource-constrained shortest path over layers and devices."""
