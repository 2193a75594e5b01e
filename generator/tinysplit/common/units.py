"""Conversion factors; a KB is 1024 bytes, as in Santamaria 2021."""

KB = 1024  # bytes
MS = 1000  # in a second
US = 1_000_000  # in a second
MILLI = 1000  # mJ in a J, mW in a W
PERCENT = 100
