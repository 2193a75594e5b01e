"""What lies where in the RAM of a board, and when: the arena and fused rows."""
