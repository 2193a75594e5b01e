"""Checks of kernels that are named for layers."""

from collections.abc import Iterable, Mapping, Sequence

from tinysplit.boards.board import Board
from tinysplit.common.choices import BIT_WIDTHS
from tinysplit.common.errors import UsageError
from tinysplit.kernels import candidates, is_named
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.settings.programs import KERNEL


def check_named_once(named: Sequence[tuple[int, str]]) -> None:
    """Raise UsageError for a layer, given by its index, with two kernels."""
    layers = [number for number, _ in named]
    for number, name in named:
        if layers.count(number) > 1:
            raise UsageError(f"{KERNEL} {number + 1}={name}: layer {number + 1} is named twice")


def check_possible(graph: Graph, boards: Iterable[Board], named: Sequence[tuple[int, str]]) -> None:
    """Raise UsageError, before anything is computed, for a layer that is missing or a kernel that no board has for it.

    Layers are given by their index, each once.
    """
    check_named_once(named)
    cores = {board.device.core for board in boards}
    for number, name in named:
        layer = _layer(graph, number)
        widths = [BitWidths.all(graph, bits).of_layer(layer) for bits in BIT_WIDTHS]
        suited = {each.name: each for core in cores for width in widths for each in candidates(layer, core, width)}
        if not any(is_named(each, layer, name) for each in suited.values()):
            known = ", ".join(f"{each.name} ({each.scheme(layer)})" for each in suited.values())
            raise UsageError(f"layer {number + 1} ({layer.name}) has no kernel {name} on these boards, only {known}")


def check_named(graph: Graph, widths: BitWidths, boards: Sequence[Board], named: Mapping[int, str]) -> None:
    """Raise UsageError if a layer does not exist or no kernel of the given name can compute it on its board."""
    for number, name in named.items():
        layer, board = _layer(graph, number), boards[number]
        suited = candidates(layer, board.device.core, widths.of_layer(layer))
        if not any(is_named(each, layer, name) for each in suited):
            known = ", ".join(f"{each.name} ({each.scheme(layer)})" for each in suited)
            raise UsageError(f"layer {number + 1} ({layer.name}) has no kernel {name} on {board.name}, only {known}")


def _layer(graph: Graph, number: int) -> Layer:
    if number >= len(graph.layers):
        raise UsageError(f"{KERNEL} names layer {number + 1}, but {graph.name} has {len(graph.layers)} layers")
    return graph.layers[number]
