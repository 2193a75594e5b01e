"""What each board does with a split: its sub-models, its links, and where every tensor lies in its arena."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tinysplit.boards import Board, Uart, check_baud
from tinysplit.errors import UsageError
from tinysplit.quantized import QuantizedGraph

WORD_BYTES = 4


@dataclass(frozen=True)
class Cut:
    """A tensor that crosses from one board to another; boards and layers count from 0."""

    index: int
    after_layer: int
    from_board: int
    to_board: int
    payload_bytes: int


@dataclass(frozen=True)
class Link:
    """A UART connection between two boards; one serves all cuts between them, in both directions."""

    boards: tuple[int, int]
    uarts: tuple[Uart, Uart]


@dataclass(frozen=True)
class SubModelPlan:
    """A maximal run of consecutive layers on one board.

    Tensor i is the input of layer `layers[i]`, the last one the output; `offsets` and `sizes_bytes` have one entry a
    tensor. `cut_in` and `cut_out` are None where the host gives the input or takes the output.
    """

    layers: range
    offsets: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    cut_in: Cut | None
    cut_out: Cut | None


@dataclass(frozen=True)
class BoardPlan:
    """The sub-models of one board in the order in which they run, its arena, and its links by number of the link."""

    board_index: int
    board: Board
    sub_models: tuple[SubModelPlan, ...]
    arena_bytes: int
    links: tuple[tuple[int, Uart], ...]  # peer board, own UART


@dataclass(frozen=True)
class Plan:
    """Plans of the boards that have layers, and the links and cuts between them."""

    boards: tuple[BoardPlan, ...]
    links: tuple[Link, ...]
    cuts: tuple[Cut, ...]


def aligned(size_bytes: int) -> int:
    """Round up to whole words, so that every tensor starts on one."""
    return -(-size_bytes // WORD_BYTES) * WORD_BYTES


def layer_ram_bytes(in_bytes: int, out_bytes: int) -> int:
    """Arena bytes while a layer runs: its input and its output."""
    return aligned(in_bytes) + aligned(out_bytes)


def make_plan(quantized: QuantizedGraph, boards: Sequence[Board], assignment: Sequence[int], baud: int) -> Plan:
    """Plan every board for `assignment` (0-based board of each layer).

    Raises UsageError when a board has too few link UARTs or a UART cannot make `baud`.
    """
    sizes = tensor_sizes_bytes(quantized)
    cuts = _cuts(assignment, sizes)
    links = _links(boards, cuts)
    for link in links:
        for index, uart in zip(link.boards, link.uarts, strict=True):
            check_baud(boards[index], uart, baud)
    plans = tuple(
        _board_plan(index, boards[index], assignment, sizes, cuts, links) for index in sorted(set(assignment))
    )
    return Plan(plans, links, cuts)


def tensor_sizes_bytes(quantized: QuantizedGraph) -> tuple[int, ...]:
    """Return the bytes of the network's input and of every layer's output."""
    bytes_each = quantized.bits // 8
    shapes = [quantized.graph.in_shape, *(layer.layer.out_shape for layer in quantized.layers)]
    return tuple(shape.size * bytes_each for shape in shapes)


def _cuts(assignment: Sequence[int], sizes: Sequence[int]) -> tuple[Cut, ...]:
    crossings = [(layer, a, b) for layer, (a, b) in enumerate(zip(assignment, assignment[1:], strict=False)) if a != b]
    return tuple(Cut(i, layer, a, b, sizes[layer + 1]) for i, (layer, a, b) in enumerate(crossings))


def _links(boards: Sequence[Board], cuts: Sequence[Cut]) -> tuple[Link, ...]:
    """Give every pair of boards that talk the next free link UART of both."""
    pairs = dict.fromkeys((min(c.from_board, c.to_board), max(c.from_board, c.to_board)) for c in cuts)
    used = [0] * len(boards)
    links = []
    for pair in pairs:
        uarts = []
        for index in pair:
            free = boards[index].link_uarts[used[index] :]
            if not free:
                raise UsageError(
                    f"board {index + 1} ({boards[index].name}) needs {used[index] + 1} link UARTs for this split but has "
                    f"{len(boards[index].link_uarts)}: use fewer boards or one with more UARTs"
                )
            uarts.append(free[0])
            used[index] += 1
        links.append(Link(pair, (uarts[0], uarts[1])))
    return tuple(links)


def _board_plan(  # noqa: PLR0917 (all of it is the context of one board)
    index: int,
    board: Board,
    assignment: Sequence[int],
    sizes: Sequence[int],
    cuts: Sequence[Cut],
    links: Sequence[Link],
) -> BoardPlan:
    layers = [i for i, device in enumerate(assignment) if device == index]
    arena_bytes = max(layer_ram_bytes(sizes[i], sizes[i + 1]) for i in layers)
    sub_models = tuple(_sub_model(run, sizes, arena_bytes, cuts) for run in _runs(layers))
    own_links = tuple(
        (link.boards[1 - side], link.uarts[side]) for link in links for side in (0, 1) if link.boards[side] == index
    )
    return BoardPlan(index, board, sub_models, arena_bytes, own_links)


def _runs(layers: Sequence[int]) -> list[range]:
    """Return the maximal runs of consecutive numbers."""
    groups = groupby(enumerate(layers), key=lambda item: item[1] - item[0])
    runs = [[layer for _, layer in group] for _, group in groups]
    return [range(run[0], run[-1] + 1) for run in runs]


def _sub_model(run: range, sizes: Sequence[int], arena_bytes: int, cuts: Sequence[Cut]) -> SubModelPlan:
    """Let the tensors of a chain take turns at the two ends of the arena: two are alive, and they never meet."""
    own = tuple(sizes[i] for i in range(run.start, run.stop + 1))
    offsets = tuple(0 if turn % 2 == 0 else arena_bytes - aligned(size) for turn, size in enumerate(own))
    cut_in = next((cut for cut in cuts if cut.after_layer == run.start - 1), None)
    cut_out = next((cut for cut in cuts if cut.after_layer == run.stop - 1), None)
    return SubModelPlan(run, offsets, own, cut_in, cut_out)
