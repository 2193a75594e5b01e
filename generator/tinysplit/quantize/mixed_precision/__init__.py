"""Which values and weights need 16 bits."""
