"""Search for an optimal assignment: one module or package per solver."""
