"""The core of a virtual board: Unicorn, cycle models, exceptions and the core's own registers."""
