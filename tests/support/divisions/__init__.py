"""The split as a mixed-integer linear program."""
