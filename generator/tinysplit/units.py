"""Units as seed 000 and the tables use them."""

KB = 1024  # bytes
MS = 1000  # in a second
