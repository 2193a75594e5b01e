"""See labgrid."""
