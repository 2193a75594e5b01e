"""Many networks, sets of boards, baud rates and bit widths, and the best compromises among them."""
