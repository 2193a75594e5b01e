"""Mixed precision: which values and weights have 16 bits."""
