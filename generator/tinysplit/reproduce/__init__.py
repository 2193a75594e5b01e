"""Published tables, computed again, and the solvers that exist only for them."""
