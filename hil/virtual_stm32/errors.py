"""Errors of virtual boards."""

from tinysplit.common.errors import ToolError


class BoardStoppedError(ToolError):
    """A virtual board did something invalid or not modelled; the message has board, program counter and symbol."""


class NotModelledError(Exception):
    """Raised by a peripheral or a cycle model; the machine adds board, program counter and symbol."""
