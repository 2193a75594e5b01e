"""The problem of Santamaria 2021, Tables 2 to 5: float32, the memory of whole chips, and Table 3's cycles per MAC."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise

from tinysplit.boards.board import Board
from tinysplit.boards.published import Published
from tinysplit.common.choices import Copies, InputSource
from tinysplit.common.errors import UsageError
from tinysplit.costs.cost_model import CostModel
from tinysplit.costs.handoff import powers_of
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Conv, DepthwiseConv, MaxPool
from tinysplit.network.layers.base import FLOAT_BITS
from tinysplit.settings.boards_and_links import LINK
from tinysplit.settings.costs import BITS_PER_BYTE, COST_TABLE, HOST_TRANSFERS, INPUT_SOURCE, MAX_FLASH, PAPER
from tinysplit.settings.search import REPLICATE, SLICES
from tinysplit.slices.settings import Search
from tinysplit.split.problem import DeviceLimits, LayerCosts, Period, Problem

FLOAT_KERNELS = (
    f"{PAPER}: L, T and bytes are those of float32 by the cycles per MAC of Santamaria 2021 (kernels of X-CUBE-AI); "
    f"generated firmware computes in 8 or 16 bits, and is estimated without {PAPER}"
)
PAPER_BAUD = 115_200
PAPER_BITS_PER_BYTE = 8  # Santamaria 2021, formula 3, counts neither start nor stop bit


def counted_as_one(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Return the layers (indices) as the document counts them: a max pool belongs to the convolution that it reads."""
    counted: list[tuple[int, ...]] = []
    for number, layer in enumerate(graph.layers):
        if isinstance(layer, MaxPool) and _follows_convolution(graph, number):
            counted[-1] = (*counted[-1], number)
        else:
            counted.append((number,))
    return tuple(counted)


def _follows_convolution(graph: Graph, number: int) -> bool:
    """Return whether a layer is the only one that reads the layer before it, a convolution."""
    readers = [reader for reader, inputs in enumerate(graph.predecessors) if number - 1 in inputs]
    return readers == [number] and number > 0 and isinstance(graph.layers[number - 1], Conv | DepthwiseConv)


def published_problem(table: CycleTable, graph: Graph, boards: Sequence[Board], baud: int) -> Problem:
    """Return the problem of Tables 2 to 4.

    X-CUBE-AI lets the output of a counted layer overwrite its input, so that it needs the RAM of the larger of the two
    (and one row more, which is left out). There is no cut within a counted layer, and none before the last one.
    """
    counted = counted_as_one(graph)
    layers = tuple(layer for group in counted for layer in _costs(graph, group, boards))
    devices = tuple(
        DeviceLimits(
            board.name,
            published_of(board).flash_bytes,
            published_of(board).ram_bytes,
            **asdict(powers_of(table, board)),
        )
        for board in boards
    )
    pairs = [[i != h for h in range(len(boards))] for i in range(len(boards))]
    transfers = tuple(
        tuple(tuple(layer.out_bytes * PAPER_BITS_PER_BYTE / baud * crosses for crosses in row) for row in pairs)
        for layer in layers
    )
    within = {first for group in counted for first, _ in pairwise(group)}
    before_last = {group[-1] for group in counted[:-1][-1:]}
    return Problem(layers, devices, transfers, must_use_all=True, joined=frozenset(within | before_last))


def _costs(graph: Graph, group: Sequence[int], boards: Sequence[Board]) -> Iterator[LayerCosts]:
    """Yield the costs of the layers that are counted as one."""
    ram_elements = max(graph.layers[group[0]].in_shape.size, graph.layers[group[-1]].out_shape.size)
    for number in group:
        layer = graph.layers[number]
        yield LayerCosts.alike(
            name=layer.name,
            flash_bytes=layer.weights_bytes(FLOAT_BITS),
            ram_bytes=ram_elements * FLOAT_BITS // 8,
            out_bytes=layer.out_shape.size * FLOAT_BITS // 8,
            seconds=tuple(layer.macc * published_of(board).cpm / published_of(board).hz for board in boards),
            inputs=graph.predecessors[number],
        )


def published_of(board: Board) -> Published:
    """Return what the document says of a board. Raises UsageError where the board's file has none of it."""
    if board.published is None:
        raise UsageError(f"{board.name} has no published cycles: leave {PAPER} out, or add [published] to its file")
    return board.published


SANTAMARIA_2021 = CostModel(published_problem, Period.PAPER, PAPER_BAUD, FLOAT_KERNELS)
COST_MODEL = "santamaria-2021"  # its name in settings and split files


def check_published(settings: CostSettings, search: Search, *, has_cost_table: bool) -> None:
    """Raise UsageError for choices that the published costs do not know, where these are asked for."""
    if settings.cost_model != COST_MODEL:
        return
    if search.copies is Copies.ALWAYS:
        raise UsageError(f"{PAPER} searches for one pipeline: it cannot be combined with {REPLICATE(True)}")
    if search.divides_layers:
        raise UsageError(f"{PAPER} knows whole layers only: it cannot be combined with {SLICES}")
    if has_cost_table:
        raise UsageError(f"{PAPER} has the published cycles per MAC: leave {COST_TABLE} out")
    if settings.max_flash_bytes is not None:
        raise UsageError(f"{PAPER} has the flash of whole chips: leave {MAX_FLASH} out")
    if settings.input_source is InputSource.BOARD:
        raise UsageError(f"{PAPER} counts no transfer of the host: leave {INPUT_SOURCE('board')} out")
    if settings.bits_per_byte != CostSettings.bits_per_byte or settings.links or settings.host_transfers:
        raise UsageError(
            f"{PAPER} has 8 bit times per byte, equal links and no host transfers: it cannot be combined with "
            f"{BITS_PER_BYTE}, {LINK} or {HOST_TRANSFERS}"
        )
