"""Divisions of layers over boards: random ones, and all placements of small networks."""
