"""The configuration file of a board: structure and weights of its part of the network in one binary file."""
