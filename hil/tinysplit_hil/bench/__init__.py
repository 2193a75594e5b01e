"""Real boards on a desk: which are plugged in, how they are flashed, and on which ports they answer."""
