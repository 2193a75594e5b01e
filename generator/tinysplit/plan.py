"""What each board does with a split: its sub-models, its links, and where every tensor lies in its arena."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.errors import UsageError
from tinysplit.graph import Graph
from tinysplit.hardware import Board, Uart, board_title, check_baud
from tinysplit.split.memory import aligned
from tinysplit.split.problem import Assignment, Cut, Problem, SubModel, sub_models
from tinysplit.techniques import Widths, choose


@dataclass(frozen=True)
class Link:
    """A UART connection between two boards; one serves all cuts between them, in both directions."""

    boards: tuple[int, int]
    uarts: tuple[Uart, Uart]


@dataclass(frozen=True)
class SubModelPlan:
    """A sub-model in its board's arena.

    Tensor i is the input of layer `run.first + i`, the last one is the output; `offsets` and `sizes_bytes` have one
    entry a tensor, `scratch_offsets` one a layer. `cut_in` and `cut_out` index `Plan.cuts`; None where the host gives
    the input or takes the output.
    """

    run: SubModel
    offsets: tuple[int, ...]
    scratch_offsets: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    cut_in: int | None
    cut_out: int | None

    @property
    def layers(self) -> range:
        """0-based indices of the layers."""
        return range(self.run.first, self.run.last + 1)


@dataclass(frozen=True)
class BoardPlan:
    """The sub-models of one board in the order in which they run, its arena, and its links: (peer board, own UART)."""

    index: int
    board: Board
    sub_models: tuple[SubModelPlan, ...]
    arena_bytes: int
    links: tuple[tuple[int, Uart], ...]

    @property
    def number(self) -> int:
        """Number of the board as users see it."""
        return self.index + 1

    @property
    def layers(self) -> tuple[int, ...]:
        """0-based indices of all layers of this board."""
        return tuple(layer for sub_model in self.sub_models for layer in sub_model.layers)


@dataclass(frozen=True)
class Plan:
    """Plans of the boards that have layers, the links and cuts between them, and what `problem` says that they cost."""

    problem: Problem
    assignment: Assignment
    boards: tuple[BoardPlan, ...]
    links: tuple[Link, ...]
    cuts: tuple[Cut, ...]


def layer_ram_bytes(in_bytes: int, out_bytes: int, scratch_bytes: int = 0) -> int:
    """Arena bytes while a layer runs: its input, its output and what its kernel needs beside them."""
    return aligned(in_bytes) + aligned(out_bytes) + aligned(scratch_bytes)


def make_plan(
    graph: Graph, bits: int, boards: Sequence[Board], problem: Problem, assignment: Assignment, baud: int
) -> Plan:
    """Plan every board for `assignment` (0-based board of each layer).

    Raises UsageError when a board has too few link UARTs or a UART cannot make `baud`.
    """
    shapes = [graph.in_shape, *(layer.out_shape for layer in graph.layers)]
    sizes = [shape.size * bits // 8 for shape in shapes]
    cuts = problem.cuts(assignment)
    links = _links(boards, cuts)
    for link in links:
        for index, uart in zip(link.boards, link.uarts, strict=True):
            check_baud(boards[index], uart, baud)
    plans = tuple(
        _board_plan(index, boards[index], assignment, sizes, _scratch_bytes(graph, boards[index], bits), links)
        for index in sorted(set(assignment))
    )
    return Plan(problem, assignment, plans, links, cuts)


def _scratch_bytes(graph: Graph, board: Board, bits: int) -> tuple[int, ...]:
    """Return what each layer's kernel needs beside input and output."""
    widths, core = Widths.all(bits), board.device.core
    return tuple(choose(layer, core, widths).scratch_bytes(layer, widths) for layer in graph.layers)


def _links(boards: Sequence[Board], cuts: Sequence[Cut]) -> tuple[Link, ...]:
    """Give every pair of boards that talk the next free link UART of both."""
    pairs = dict.fromkeys((min(cut.sender, cut.receiver), max(cut.sender, cut.receiver)) for cut in cuts)
    used = [0] * len(boards)
    links = []
    for pair in pairs:
        uarts = []
        for index in pair:
            free = boards[index].link_uarts[used[index] :]
            if not free:
                title = board_title(index + 1, boards[index].name)
                raise UsageError(
                    f"{title} has {used[index]} link UARTs, and this split needs one more: "
                    "use fewer boards or one with more UARTs"
                )
            uarts.append(free[0])
            used[index] += 1
        links.append(Link(pair, (uarts[0], uarts[1])))
    return tuple(links)


def _board_plan(
    index: int,
    board: Board,
    assignment: Assignment,
    sizes: Sequence[int],
    scratch: Sequence[int],
    links: Sequence[Link],
) -> BoardPlan:
    runs = sub_models(assignment)
    own = [(position, run) for position, run in enumerate(runs) if run.device == index]
    layers = [i for _, run in own for i in range(run.first, run.last + 1)]
    arena_bytes = max(layer_ram_bytes(sizes[i], sizes[i + 1], scratch[i]) for i in layers)
    plans = tuple(
        SubModelPlan(
            run=run,
            offsets=_offsets(sizes[run.first : run.last + 2], arena_bytes),
            scratch_offsets=_scratch_offsets(sizes[run.first : run.last + 2]),
            sizes_bytes=tuple(sizes[run.first : run.last + 2]),
            cut_in=position - 1 if position > 0 else None,
            cut_out=position if position + 1 < len(runs) else None,
        )
        for position, run in own
    )
    own_links = tuple(
        (link.boards[1 - side], link.uarts[side]) for link in links for side in (0, 1) if link.boards[side] == index
    )
    return BoardPlan(index, board, plans, arena_bytes, own_links)


def _offsets(sizes: Sequence[int], arena_bytes: int) -> tuple[int, ...]:
    """Let the tensors of a chain take turns at the two ends of the arena: two are alive, and they never meet."""
    return tuple(0 if turn % 2 == 0 else arena_bytes - aligned(size) for turn, size in enumerate(sizes))


def _scratch_offsets(sizes: Sequence[int]) -> tuple[int, ...]:
    """Put each layer's scratch buffer between its input and its output: behind the one at the arena's start."""
    return tuple(aligned(sizes[turn + turn % 2]) for turn in range(len(sizes) - 1))
