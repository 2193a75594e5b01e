"""C files and PlatformIO projects of all boards."""
