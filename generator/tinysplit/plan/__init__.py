"""The plan of a split: the steps, links and memory of each board."""
