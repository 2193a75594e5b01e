"""The DMA controllers of a virtual board, and how requests reach them."""
