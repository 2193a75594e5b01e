"""Board files and device facts to a `Board`: core, clock, memories, UARTs."""
