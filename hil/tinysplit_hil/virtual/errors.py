"""What stops a virtual board."""

from tinysplit.common.errors import ToolError


class BoardStoppedError(ToolError):
    """A virtual board did what no real one can, or what is not modelled; one line names board, pc and symbol."""


class NotModelledError(Exception):
    """Raised by a peripheral or a cost model; the machine adds board, pc and symbol."""
