"""Layers that occur only in distributed networks: see network/distribute.py."""
