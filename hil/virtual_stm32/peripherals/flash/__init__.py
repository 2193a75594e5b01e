"""Flash memories: cells, and the controllers that erase and program them."""
