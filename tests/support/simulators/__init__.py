"""Simulators by other authors, as boards that answer."""
