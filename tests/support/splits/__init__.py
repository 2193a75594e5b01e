"""Splitting problems, and definitions of their figures that share no code with ours."""
