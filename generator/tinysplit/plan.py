"""What each board does with a split: its steps, its links, and where every tensor lies in its arena."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tinysplit.arena import Arena, Block, place
from tinysplit.bit_widths import BitWidths
from tinysplit.errors import CheckFailedError, UsageError
from tinysplit.graph import NETWORK_INPUT, Graph
from tinysplit.hardware import Board, Uart, board_title, check_baud
from tinysplit.link_settings import LinkSettings
from tinysplit.split.links import pair_of
from tinysplit.split.problem import Assignment, Cut, Problem
from tinysplit.techniques import Technique, choose


class StepKind(StrEnum):
    """What a board does in a step: take a tensor from a link, run a layer, give a tensor to a link."""

    RECEIVE = "receive"
    RUN = "run"
    SEND = "send"


class Step(NamedTuple):
    """`item` is a layer to run, or an index of `Plan.cuts`; `tensor` is what is computed or transferred."""

    kind: StepKind
    item: int
    tensor: int  # the layer that computed it


class Place(NamedTuple):
    """What lies in an arena: the output of layer `tensor` (or NETWORK_INPUT), or that layer's scratch memory."""

    tensor: int
    is_scratch: bool = False


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
    """The steps of one board in their order, its arena, and its links."""

    index: int
    board: Board
    steps: tuple[Step, ...]
    arena: Arena[Place]
    links: tuple[BoardLink, ...]

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
        return Place(NETWORK_INPUT) in self.arena.offsets


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
) -> Plan:
    """Plan every board for `assignment` (0-based board of each layer).

    All boards follow one list of steps: the layers in their order, each followed by the cuts behind it. A transfer
    blocks both its boards until it is done, and yet none can wait for ever: the first step of the list that is not
    done is the next one of every board that takes part in it.

    Raises UsageError when a board has too few link UARTs or a UART cannot make its rate, CheckFailedError when a
    board's arena is larger than its memory.
    """
    widths = BitWidths.of(graph, bits)
    cuts = _hops(problem, assignment)
    links = _links(boards, cuts, settings)
    steps = _steps(assignment, cuts)
    plans = tuple(
        BoardPlan(
            index=index,
            board=boards[index],
            steps=tuple(own),
            arena=place(_blocks(graph, widths, boards[index], own)),
            links=tuple(
                BoardLink(link.boards[1 - side], link.uarts[side], link.baud)
                for link in links
                for side in (0, 1)
                if link.boards[side] == index
            ),
        )
        for index, own in sorted(steps.items())
    )
    for plan in plans:
        _check_arena(plan, problem.devices[plan.index].ram_bytes)
    return Plan(problem, assignment, plans, links, cuts)


def layer_ram_bytes(graph: Graph, number: int, bits: int | BitWidths, technique: Technique) -> int:
    """Return the arena bytes while layer `number` (from 0) runs: its inputs, its output and what its kernel needs."""
    reads, widths = set(graph.predecessors[number]), BitWidths.of(graph, bits)
    tensors = [
        Block(Place(source), widths.size_bytes(graph, source), 0, 0 if graph.last_reader(source) == number else 1)
        for source in reads
    ]
    return place([*tensors, *_layer_blocks(graph, widths, number, technique, tensors, (0, 1))]).size_bytes


def _hops(problem: Problem, assignment: Assignment) -> tuple[Cut, ...]:
    """Return the cuts link by link; what a board has already, since it passed it on, is not sent there anew."""
    there: set[tuple[int, int]] = set()
    cuts = []
    for cut in problem.cuts(assignment):
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


def _blocks(graph: Graph, widths: BitWidths, board: Board, steps: Sequence[Step]) -> list[Block[Place]]:
    """Return what a board has to keep, and in which of its steps.

    The network's input is there before the first step, the network's output stays after the last.
    """
    first, last = _lifetimes(graph, steps)
    tensors = [Block(Place(t), widths.size_bytes(graph, t), first[t], last[t]) for t in first]
    blocks = {block.key: block for block in tensors}
    for turn, step in enumerate(steps):
        if step.kind is StepKind.RUN:
            layer = graph.layers[step.item]
            technique = choose(layer, board.device.core, widths.of_layer(layer))
            times = turn, last[step.item]
            for block in _layer_blocks(graph, widths, step.item, technique, tensors, times):
                blocks[block.key] = block
    return list(blocks.values())


def _layer_blocks(
    graph: Graph,
    widths: BitWidths,
    number: int,
    technique: Technique,
    tensors: Sequence[Block[Place]],
    times: tuple[int, int],
) -> list[Block[Place]]:
    """Return the output of a layer that runs in step `times[0]`, needed until `times[1]`, and its scratch memory.

    The output may lie over inputs that nobody reads any more, as far as the kernel allows it.
    """
    layer, (turn, end) = graph.layers[number], times
    dying = {block.key.tensor for block in tensors if block.last == turn}
    bits = widths.values[layer.output]
    leads = [
        (Place(source), lead)
        for k, source in enumerate(graph.predecessors[number])
        if source in dying
        and widths.values[layer.inputs[k]] == bits
        and (lead := technique.lead(layer, k, widths.of_layer(layer))) is not None
    ]
    scratch_bytes = technique.scratch_bytes(layer, widths.of_layer(layer))
    output = Block(Place(number), widths.size_bytes(graph, number), turn, end, tuple(leads))
    return [output, Block(Place(number, is_scratch=True), scratch_bytes, turn, turn)] if scratch_bytes else [output]


def _lifetimes(graph: Graph, steps: Sequence[Step]) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Return the first and the last step in which each tensor of a board is needed there."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for turn, step in enumerate(steps):
        reads = graph.predecessors[step.item] if step.kind is StepKind.RUN else (step.tensor,)
        for tensor in (*reads, step.tensor):
            first.setdefault(tensor, 0 if tensor == NETWORK_INPUT else turn)
            last[tensor] = turn
    if len(graph.layers) - 1 in last:
        last[len(graph.layers) - 1] = len(steps)
    return first, last


def _check_arena(plan: BoardPlan, ram_bytes: int) -> None:
    if plan.arena.size_bytes > ram_bytes:
        title = board_title(plan.number, plan.board.name)
        raise CheckFailedError(
            f"{title} has {ram_bytes} bytes for tensors, and this split needs {plan.arena.size_bytes} where they can "
            "lie: split over more boards"
        )
