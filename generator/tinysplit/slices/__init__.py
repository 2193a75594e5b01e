"""Layers on several boards at a time: which distributions there are, and the search for a good one."""
