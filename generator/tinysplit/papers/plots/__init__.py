"""Published figures that are plots: their data computed again, their rows, and a page that draws them."""
