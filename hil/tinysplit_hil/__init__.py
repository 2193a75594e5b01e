"""Hardware in the loop: the serial harness, the virtual boards and the measurement."""
