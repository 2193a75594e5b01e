"""Units as seed 000 and the tables use them."""

KB = 1024  # bytes
MS = 1000  # in a second
MILLI = 1000  # mJ in a J, mW in a W
PERCENT = 100
