"""Measures the networks of the calibration on a rig, and makes a cost table of their times."""
