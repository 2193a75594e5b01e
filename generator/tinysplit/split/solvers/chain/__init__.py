"""Exact label search for networks without branches."""
