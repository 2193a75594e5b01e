"""Layers divided over boards by a geometric program (Carballo-Hernández 2023), with the costs of boards and links."""
