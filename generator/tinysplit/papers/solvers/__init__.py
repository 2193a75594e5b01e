"""Solvers as publications describe them."""
