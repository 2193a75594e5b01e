"""What networks may have: operators and their attributes, and the kernels that compute their layers on each core."""
