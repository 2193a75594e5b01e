"""Boards that answer: fake ones, virtual ones with faults, wires or debug ports, and the tools of a desk."""
