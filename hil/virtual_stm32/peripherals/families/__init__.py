"""The device families: clock tree, peripherals and DMA of each, by what it declares."""
