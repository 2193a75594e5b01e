"""Shares of a channel's weight range among which calibration chooses the clipping limit."""

CLIPPED_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6)
