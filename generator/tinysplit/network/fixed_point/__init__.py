"""Q formats, and the integer arithmetic of kernels."""
