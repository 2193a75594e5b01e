"""Boards from board files and device data: core, clock tree, memories, UARTs."""
