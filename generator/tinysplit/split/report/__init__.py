"""Splits, fronts and arrivals as tables."""
