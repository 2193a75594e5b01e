"""Benchmarks by theme: `.venv/bin/python benchmarks THEME [NAME] [options]`; without a theme it lists them all."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # firmware and boards of the tests

from themes import main

if __name__ == "__main__":
    main(sys.argv[1:])
