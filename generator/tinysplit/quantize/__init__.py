"""Calibration: value ranges to Q formats, and weights to integers."""
