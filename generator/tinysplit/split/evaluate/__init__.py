"""What an assignment costs: time, period, energy and RAM."""
