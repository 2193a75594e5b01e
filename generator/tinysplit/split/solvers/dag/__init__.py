"""Exact label search for networks with branches."""
