"""Reproduction of published tables, and the published solvers that only it needs."""
