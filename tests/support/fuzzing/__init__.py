"""Mutated inputs for the Python code that reads what boards, people and files send."""
