"""What each board does with a split: its steps, its links, and where every tensor lies in its arena."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinysplit.boards.board import Board, Memory, Uart, board_title, check_baud
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.costs.link_options import LinkSettings
from tinysplit.kernels import Optimize, candidates, is_named
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.memory.arena import Arena
from tinysplit.memory.layout import BoardMemory, BufferId
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.schedule import Step, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.topology import Cut, pair_of


@dataclass(frozen=True)
class Link:
    """A UART connection between two boards; one serves all cuts between them, in both directions."""

    boards: tuple[int, int]
    uarts: tuple[Uart, Uart]
    baud: int


@dataclass(frozen=True)
class BoardLink:
    """A board's end of a link."""

    peer: int
    uart: Uart
    baud: int


@dataclass(frozen=True)
class BoardPlan:
    """The steps of one board in their order, its memory, and its links."""

    index: int
    board: Board
    steps: tuple[Step, ...]
    memory: BoardMemory
    links: tuple[BoardLink, ...]
    named: Mapping[int, str]  # kernels or schemes that were asked for, by layer
    optimize: Optimize  # what the other kernels were chosen for

    @property
    def arena(self) -> Arena[BufferId]:
        """Where everything lies."""
        return self.memory.arena

    @property
    def arena_memory(self) -> Memory:
        """The memory that the arena lies in."""
        return self.board.arena_memory(self.arena.size_bytes, self._firmware_bytes)

    @property
    def near_bytes(self) -> int:
        """Bytes of memory of level 1 that the firmware leaves."""
        return self.board.near_memory.size_bytes - self._firmware_bytes

    @property
    def _firmware_bytes(self) -> int:
        return load_cycle_table().firmware[self.board.device.family].ram_bytes

    @property
    def number(self) -> int:
        """Number of the board as users see it."""
        return self.index + 1

    @property
    def layers(self) -> tuple[int, ...]:
        """0-based indices of all layers of this board."""
        return tuple(step.item for step in self.steps if step.kind is StepKind.RUN)

    @property
    def takes_input(self) -> bool:
        """Whether the host gives this board the network's input."""
        return BufferId(NETWORK_INPUT) in self.arena.offsets


@dataclass(frozen=True)
class Plan:
    """Plans of the boards that do something, the links between them, and what `problem` says that they cost.

    `cuts` has one entry a link that a tensor takes: where boards pass it on, every hop is one.
    """

    problem: Problem
    assignment: Assignment
    boards: tuple[BoardPlan, ...]
    links: tuple[Link, ...]
    cuts: tuple[Cut, ...]


def make_plan(
    graph: Graph,
    bits: int | BitWidths,
    boards: Sequence[Board],
    problem: Problem,
    assignment: Assignment,
    settings: LinkSettings,
    optimize: Optimize = Optimize.CYCLES,
    kernels: Sequence[tuple[int, str]] = (),
) -> Plan:
    """Plan every board for `assignment` (0-based board of each layer); `kernels` names some, or schemes, by layer.

    All boards follow one list of steps: the layers in their order, each followed by the cuts behind it. A transfer
    blocks both its boards until it is done, and yet none can wait for ever: the first step of the list that is not
    done is the next one of every board that takes part in it.

    Raises UsageError when a board has too few link UARTs, a UART cannot make its rate, or nothing of a layer's name can
    compute it, CheckFailedError when a board's arena is larger than its memory.
    """
    widths, named = BitWidths.of(graph, bits), dict(kernels)
    _check_named(graph, widths, [boards[device] for device in assignment], named)
    cuts = _hops(problem, assignment)
    links = _links(boards, cuts, settings)
    steps = _steps(assignment, cuts)
    plans = tuple(
        BoardPlan(
            index=index,
            board=boards[index],
            steps=tuple(own),
            memory=plan_memory(
                graph, widths, boards[index].device.core, own, problem.devices[index].ram_bytes, optimize, named
            ),
            links=tuple(
                BoardLink(link.boards[1 - side], link.uarts[side], link.baud)
                for link in links
                for side in (0, 1)
                if link.boards[side] == index
            ),
            named=named,
            optimize=optimize,
        )
        for index, own in sorted(steps.items())
    )
    for plan in plans:
        _check_arena(plan, problem.devices[plan.index].ram_bytes)
    return Plan(problem, assignment, plans, links, cuts)


def _hops(problem: Problem, assignment: Assignment) -> tuple[Cut, ...]:
    """Return the cuts link by link; what a board has already, since it passed it on, is not sent there anew."""
    there: set[tuple[int, int]] = set()
    cuts = []
    for cut in evaluate(problem, assignment).cuts:
        for hop in problem.hops(cut):
            if (cut.after_layer, hop.receiver) not in there:
                there.add((cut.after_layer, hop.receiver))
                cuts.append(Cut(cut.after_layer, hop.sender, hop.receiver, cut.payload_bytes, hop.seconds))
    return tuple(cuts)


def _steps(assignment: Assignment, cuts: Sequence[Cut]) -> dict[int, list[Step]]:
    """Return the steps of every board that has any."""
    steps: dict[int, list[Step]] = {}
    for layer, device in enumerate(assignment):
        steps.setdefault(device, []).append(Step(StepKind.RUN, layer, layer))
        for number, cut in enumerate(cuts):
            if cut.after_layer == layer:
                steps.setdefault(cut.sender, []).append(Step(StepKind.SEND, number, layer))
                steps.setdefault(cut.receiver, []).append(Step(StepKind.RECEIVE, number, layer))
    return steps


def _links(boards: Sequence[Board], cuts: Sequence[Cut], settings: LinkSettings) -> tuple[Link, ...]:
    """Give every pair of boards that talk the next free link UART of both."""
    used = [0] * len(boards)
    links = []
    for pair in dict.fromkeys(pair_of(cut.sender, cut.receiver) for cut in cuts):
        setting = settings.between(*pair)
        if setting.baud is None or setting.half_duplex:
            numbers = "-".join(str(index + 1) for index in pair)
            raise UsageError(f"boards {numbers} need a full-duplex link, which --link takes away: split again")
        uarts = []
        for index in pair:
            free = boards[index].link_uarts[used[index] :]
            if not free:
                title = board_title(index + 1, boards[index].name)
                raise UsageError(
                    f"{title} has {used[index]} link UARTs, and this split needs one more: "
                    "use fewer boards or one with more UARTs"
                )
            check_baud(boards[index], free[0], setting.baud)
            uarts.append(free[0])
            used[index] += 1
        links.append(Link(pair, (uarts[0], uarts[1]), setting.baud))
    return tuple(links)


def _check_named(graph: Graph, widths: BitWidths, boards: Sequence[Board], named: Mapping[int, str]) -> None:
    """Raise UsageError where a layer does not exist or cannot be computed by what is named for it."""
    for number, name in named.items():
        if number >= len(graph.layers):
            raise UsageError(f"--kernel names layer {number + 1}; {graph.name} has {len(graph.layers)}")
        layer, board = graph.layers[number], boards[number]
        suited = candidates(layer, board.device.core, widths.of_layer(layer))
        if not any(is_named(each, layer, name) for each in suited):
            known = ", ".join(f"{each.name} ({each.scheme(layer)})" for each in suited)
            raise UsageError(f"layer {number + 1} ({layer.name}) cannot be {name} on {board.name}; it can be: {known}")


def _check_arena(plan: BoardPlan, ram_bytes: int) -> None:
    if plan.arena.size_bytes > ram_bytes:
        title = board_title(plan.number, plan.board.name)
        raise CheckFailedError(
            f"{title} has {ram_bytes} bytes for tensors, and this split needs {plan.arena.size_bytes} where they can "
            "lie: split over more boards"
        )
