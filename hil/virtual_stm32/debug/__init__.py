"""The debug port of a virtual board: from the pins of JTAG to the core, one concept a file."""
