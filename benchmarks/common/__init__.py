"""What the themes share: benchmarks as commands, tables, networks, and runs on virtual boards."""
