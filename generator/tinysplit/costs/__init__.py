"""Graph and boards to a splitting problem."""
