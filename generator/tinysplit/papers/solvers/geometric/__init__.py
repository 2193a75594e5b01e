"""Division of layers' channels over devices by geometric programming (Carballo-Hernández 2023), and exactly."""
