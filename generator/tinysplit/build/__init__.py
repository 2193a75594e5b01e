"""Building the generated projects, and the sizes of their programs."""
