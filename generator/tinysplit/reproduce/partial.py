"""Partial assignments as chains of nodes: each knows the device of its own layer and the node of the layer before."""

from typing import Protocol, Self

from tinysplit.split.problem import Assignment


class Partial(Protocol):
    """A node of a search tree; `parent` is None at its root, which has no layer."""

    @property
    def device(self) -> int:
        """Device of the node's layer."""

    @property
    def parent(self) -> Self | None:
        """Node of the layer before."""


def assignment_of(node: Partial) -> Assignment:
    """Return the devices of all layers up to that of `node`."""
    devices: list[int] = []
    while node.parent:
        devices.append(node.device)
        node = node.parent
    return tuple(reversed(devices))
