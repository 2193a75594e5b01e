"""Reports of explorations: tables, JSON, and their progress."""
