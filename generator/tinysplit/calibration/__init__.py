"""Calibration of the cost table: networks to measure, the fit of their times, and the file with its conditions."""
