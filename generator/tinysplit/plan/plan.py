"""The plan of a split: the steps of each board, its links, and the offset of every tensor in its arena."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import NamedTuple

from tinysplit.boards.board import Board, CodeMemory, board_title
from tinysplit.boards.link_driver import LinkDriver, LinkDriving, choose_driver
from tinysplit.boards.parts import Memory
from tinysplit.common.alignment import aligned
from tinysplit.common.choices import Optimize
from tinysplit.common.errors import CheckFailedError, InputError
from tinysplit.costs.link_options import HandOffMode, LinkSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.memory.arena import NEAR_BEGIN, Arena
from tinysplit.memory.constants_in_ram import ByteRange, PlacedConstants
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import BoardMemory, BufferId, Schedule
from tinysplit.memory.link_memory import link_ram_bytes
from tinysplit.memory.near_buffers import with_near_buffers
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.resident_constants import far_ram
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.plan.code_placement import IN_FLASH, CodePlacement, place_code
from tinysplit.plan.named_kernels import check_named
from tinysplit.plan.program import BoardSteps
from tinysplit.plan.return_route import input_board, return_cuts
from tinysplit.plan.stages import HostEnds, StageBuffers, place_stages
from tinysplit.plan.streams import CutPlan, StreamPlanner
from tinysplit.plan.wiring import BoardLink, Link, links_of_board, wire
from tinysplit.split.evaluate.actions import board_steps
from tinysplit.split.evaluate.cuts import cuts as cuts_of
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.kernels import with_kernels_of
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.program import Program
from tinysplit.timing.topology import Cut


@dataclass(frozen=True)
class BoardPlan:
    """The steps of one board in order, its memory, and its links, by the costs of `table`."""

    table: CycleTable = field(repr=False)
    index: int
    board: Board
    steps: tuple[PlanStep, ...]
    memory: BoardMemory
    stages: StageBuffers
    links: tuple[BoardLink, ...]
    link_driving: LinkDriving
    link_ram_bytes: int
    named: Mapping[int, str]  # kernels or schemes that the user chose, by 0-based layer
    optimize: Optimize  # objective for all other kernels
    constants: Mapping[int, PlacedConstants] = field(default_factory=dict)  # by layer, where it has any
    code: CodePlacement = IN_FLASH
    external: frozenset[int] = frozenset()  # layers whose constants lie in the external memory
    kept_memory: Memory | None = None  # of constants that are decrypted once, if there may be such
    gives_output: bool = False  # to the host
    is_alone: bool = False  # no other board has a layer

    def kernel_choice(self, graph: Graph, widths: BitWidths) -> KernelChoice:
        """Return the choice of kernels of the board's layers."""
        own = (self.table, graph, widths, self.board, self.code.memory, self.index)
        return KernelChoice(*own, is_alone=self.is_alone).known

    @property
    def arena(self) -> Arena[BufferId]:
        """Offsets of all tensors and scratch memory."""
        return self.memory.arena

    @property
    def arena_memory(self) -> Memory:
        """The memory of the board that holds the arena, without what lies next to the core."""
        return self.board.arena_memory(self.arena_bytes, self._firmware_bytes + self.near_arena_bytes)

    @property
    def constants_space(self) -> ByteRange:
        """Offsets that copies of constants may take, next to the core: what firmware, stages and code leave free."""
        memory, code_ram, ahead_bytes = self.board.near_memory, self.board.code_ram, self.board.read_ahead_bytes
        if self.arena_memory != memory:
            return ByteRange(NEAR_BEGIN, NEAR_BEGIN + self.near_bytes - ahead_bytes)
        end = memory.end
        if code_ram and self.code.memory is CodeMemory.RAM:
            end = min(end, code_ram.data_end(self.code.ram_bytes))
        used_bytes = self._firmware_bytes + self.near_arena_bytes + self.stages.size_bytes
        return ByteRange(0, end - memory.start - used_bytes - ahead_bytes)

    @property
    def free_near_bytes(self) -> int:
        """Bytes next to the core that nothing takes."""
        space, in_arena = self.constants_space, self.arena_memory == self.board.near_memory
        end = self.stages_begin_bytes if in_arena else NEAR_BEGIN + self.near_arena_bytes
        return max(0, space.end - end)

    @property
    def far_ram(self) -> Memory | None:
        """RAM for constants beside that next to the core."""
        buffers_bytes = len(self.links) * self.link_driving.buffer_bytes
        has_code = self.code.memory is CodeMemory.RAM
        return far_ram(self.board, self.arena_memory, self.arena_bytes, buffers_bytes, has_code=has_code)

    def residents(self, *, are_far: bool) -> frozenset[int]:
        """Return the layers whose constants lie in RAM from the start: in `far_ram`, or next to the variables."""
        every = self.constants.items()
        return frozenset(number for number, own in every if own.residence and own.residence.is_far == are_far)

    @property
    def resident_bytes(self) -> int:
        """Bytes of these constants."""
        own = (each for each in self.constants.values() if each.residence and not each.is_reused)
        return sum(aligned(each.size_bytes) for each in own)

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena with constants, and of the buffers of staged transfers behind both."""
        return self.stages_begin_bytes + self.stages.size_bytes

    def with_constants(self, constants: Mapping[int, PlacedConstants]) -> "BoardPlan":
        """Return the plan with these constants, and with the buffers of transfers right behind those in the arena."""
        placed = replace(self, constants=constants)
        return replace(placed, stages=self.stages.moved(placed.stages_begin_bytes - self.stages_begin_bytes))

    @property
    def stages_begin_bytes(self) -> int:
        """Offset behind all tensors and constants of the arena."""
        return aligned(max(self.arena.size_bytes, *(end for end in self._constants_ends if end < NEAR_BEGIN), 0))

    @property
    def near_arena_bytes(self) -> int:
        """Bytes of tensors and constants that lie next to the core, beside an arena that does not."""
        return max(self.arena.near_bytes, *(end - NEAR_BEGIN for end in self._constants_ends), 0)

    @property
    def _constants_ends(self) -> tuple[int, ...]:
        return tuple(each.end_bytes for each in self.constants.values())

    @property
    def data_bytes(self) -> int:
        """Bytes that firmware, links and arena take."""
        return self._firmware_bytes + self.arena_bytes

    @property
    def near_bytes(self) -> int:
        """Bytes of level 1 memory that the firmware leaves free."""
        return self.board.near_memory.size_bytes - self._firmware_bytes

    @property
    def _firmware_bytes(self) -> int:
        return self.table.firmware[self.board.device.family].ram_bytes + self.link_ram_bytes

    @property
    def number(self) -> int:
        """1-based number of the board, as in messages."""
        return self.index + 1

    @property
    def layers(self) -> tuple[int, ...]:
        """0-based indices of all layers of this board."""
        return tuple(step.item for step in self.steps if step.kind is StepKind.RUN)

    @property
    def own_steps(self) -> BoardSteps:
        """What programs and the choice of hand-offs need of the board."""
        return BoardSteps(
            self.index,
            self.board,
            self.steps,
            self.memory,
            self.stages,
            self.link_driving,
            takes_input=self.takes_input,
            gives_output=self.gives_output,
        )

    @property
    def takes_input(self) -> bool:
        """Whether the host sends the network's input to this board."""
        return BufferId(NETWORK_INPUT) in self.arena.offsets


@dataclass(frozen=True)
class Plan:
    """Plans of the boards that take part, the links between them, and the problem with their costs.

    `cuts` has one entry per hop of a tensor, with how it crosses, which `streams` has decided.
    """

    problem: Problem
    assignment: Assignment
    boards: tuple[BoardPlan, ...]
    links: tuple[Link, ...]
    cuts: tuple[CutPlan, ...]
    streams: StreamPlanner = field(repr=False, compare=False)
    output_board: int  # 0-based: gives the output to the host

    @property
    def table(self) -> CycleTable:
        """The cost table that all its boards were planned with."""
        return self.boards[0].table

    def program(self, problem: Problem | None = None) -> Program:
        """Return the program of the boards; `problem` has the costs of its layers, by default the plan's."""
        return self.streams.program([each.hand_off for each in self.cuts], problem)


def make_plan(
    table: CycleTable,
    graph: Graph,
    bits: int | BitWidths,
    boards: Sequence[Board],
    problem: Problem,
    assignment: Assignment,
    settings: LinkSettings,
    optimize: Optimize = Optimize.CYCLES,
    kernels: Sequence[tuple[int, str]] = (),
    code_memory: CodeMemory | None = None,
) -> Plan:
    """Return the plan of every board for `assignment` (0-based board of each layer).

    A transfer blocks a board that has no buffer for it, unless the network is distributed. `kernels` has (0-based
    layer, kernel or scheme to use), `code_memory` that of the layers' code, None to choose. Raises UsageError if a
    board has too few link UARTs or not that memory, a UART cannot generate its baud rate, or no kernel of that name can
    compute a layer, InputError without a route, and CheckFailedError if an arena or code is larger than its memory.
    """
    widths, named, problem = BitWidths.of(graph, bits), dict(kernels), with_kernels_of(problem, assignment)
    check_named(graph, widths, [boards[device] for device in assignment], named)
    cuts, output_board = _cuts(graph, boards, problem, assignment, settings)
    is_alone = len(set(assignment)) == 1 and not graph.is_distributed
    links, constants = wire(boards, cuts, settings), evaluate(problem, assignment).constants_bytes

    def plan_board(index: int, steps: Sequence[PlanStep]) -> BoardPlan:
        gives_output = output_board == index
        board, ram_bytes, own_links = boards[index], problem.devices[index].ram_bytes, links_of_board(links, index)
        records = problem.record_bytes[index] if graph.is_distributed else 0
        link_memory = _LinkMemory(board, own_links, _tensor_bytes(steps, cuts), settings.driver, records)
        free_bytes = ram_bytes - link_memory.least_bytes
        on_board = (steps, free_bytes, optimize, named, index)
        memory = plan_memory(table, graph, widths, board, *on_board, is_alone=is_alone, small=problem.small)
        driving, link_bytes = link_memory.choose(ram_bytes - aligned(memory.arena.size_bytes))
        ends = _host_ends(graph, widths, memory, settings, is_last=gives_output)
        stages = StageBuffers({}, None, None, 0)
        own = (own_links, driving, link_bytes, named, optimize)
        planned = (table, index, board, tuple(steps), memory, stages, *own)
        plan = BoardPlan(*planned, gives_output=gives_output, is_alone=is_alone)
        limits = _StageLimits(cuts, ram_bytes, constants[index], ends, has_stages=not graph.is_distributed)
        return _with_near_buffers(_with_stages(plan, graph, limits), graph, widths, limits)

    planned = starmap(plan_board, sorted(board_steps(problem, assignment, cuts).items()))
    plans = tuple(_with_code(plan, graph, widths, code_memory) for plan in planned)
    own = {plan.index: plan.own_steps for plan in plans}
    streams = StreamPlanner(table, graph, widths, problem, assignment, cuts, own)
    planned_cuts = streams.choose(HandOffMode.WHOLE if graph.is_distributed else settings.hand_off)
    return Plan(problem, assignment, plans, links, planned_cuts, streams, output_board)


def _cuts(
    graph: Graph, boards: Sequence[Board], problem: Problem, assignment: Assignment, settings: LinkSettings
) -> tuple[tuple[Cut, ...], int]:
    """Return the cuts hop by hop, and the board that gives the output to the host."""
    _check_routes(graph, boards, problem, assignment)
    cuts = transfers(problem, assignment)
    if not settings.returns_output:
        return cuts, assignment[-1]
    first = input_board(graph, assignment)
    return (*cuts, *return_cuts(problem, cuts, assignment, first)), first


def _check_routes(graph: Graph, boards: Sequence[Board], problem: Problem, assignment: Assignment) -> None:
    """Raise InputError if there is no route for a tensor."""
    for cut in cuts_of(problem, assignment):
        if not problem.hops(cut):
            sender, receiver = (board_title(end + 1, boards[end].name) for end in (cut.sender, cut.receiver))
            tensor = graph.parts[cut.after_layer].tensor if graph.is_distributed else cut.after_layer
            raise InputError(
                f"{receiver} needs {cut.payload_bytes} bytes of {_tensor_title(tensor)} from {sender}, and no links "
                "join them, not even via other boards: allow a link, or split again"
            )


def _tensor_title(tensor: int) -> str:
    return "the network's input" if tensor == NETWORK_INPUT else f"the output of layer {tensor + 1}"


class _StageLimits(NamedTuple):
    """What the buffers of a board's transfers depend on: cuts, bytes of RAM and of all constants, and its host."""

    cuts: Sequence[Cut]
    ram_bytes: int
    constants_bytes: int
    ends: HostEnds
    has_stages: bool  # the transfers of a distributed network need no buffers


def _with_stages(plan: BoardPlan, graph: Graph, limits: _StageLimits) -> BoardPlan:
    """Return the plan with buffers of its transfers. Raises CheckFailedError if the arena does not fit."""
    arena_bytes, link_bytes, ends = aligned(plan.arena.size_bytes), plan.link_ram_bytes, limits.ends
    _check_arena(plan, graph, limits.ram_bytes, ends.kept_bytes)
    free_bytes = limits.ram_bytes - link_bytes - max(arena_bytes, limits.constants_bytes)
    if plan.optimize is Optimize.RAM:
        free_bytes = 0
    own = (limits.cuts, arena_bytes, max(ends.kept_bytes, free_bytes), ends)
    has_stages = limits.has_stages and not plan.link_driving.polls
    return replace(plan, stages=place_stages(plan.steps, *own, stages_cuts=has_stages))


def _with_near_buffers(plan: BoardPlan, graph: Graph, widths: BitWidths, limits: _StageLimits) -> BoardPlan:
    """Return the plan with part of the arena next to the core, if not all of it fits there."""
    board, memory = plan.board, plan.memory
    if plan.arena_memory == board.near_memory:
        return plan
    schedule = Schedule(graph, widths, plan.steps, memory.kernels, memory.fused, memory.moves)
    near = with_near_buffers(schedule, board, plan.near_bytes - board.read_ahead_bytes)
    return _with_stages(replace(plan, memory=near), graph, limits)


def _with_code(plan: BoardPlan, graph: Graph, widths: BitWidths, requested: CodeMemory | None) -> BoardPlan:
    """Return the plan with the places of constants and code of the layers, in what arena, links and buffers leave."""
    board = plan.board
    choice = KernelChoice(plan.table, graph, widths, board, index=plan.index, is_alone=plan.is_alone).known
    kernels = plan.memory.kernels
    title = board_title(plan.number, board.name)
    waits = {number: choice.code_waits(number, kernel) for number, kernel in kernels.items()}
    code = place_code(board, choice.code_bytes(kernels), waits, plan.data_bytes, requested, title)
    return replace(plan, code=code, external=choice.external.intersection(plan.layers))


def _tensor_bytes(steps: Sequence[PlanStep], cuts: Sequence[Cut]) -> list[int]:
    kinds = (StepKind.SEND, StepKind.RECEIVE)
    return [cuts[step.item].payload_bytes for step in steps if step.kind in kinds]


@dataclass(frozen=True)
class _LinkMemory:
    """RAM of a board's links, which carry tensors of `tensor_bytes`, with what is recorded of its steps."""

    board: Board
    links: Sequence[BoardLink]
    tensor_bytes: Sequence[int]
    requested: LinkDriver | None
    record_bytes: int

    @property
    def _own_bytes(self) -> int:
        return link_ram_bytes(len(self.links), self.tensor_bytes) + self.record_bytes

    @property
    def least_bytes(self) -> int:
        """What the links take at least."""
        return self.choose(0)[1]

    def choose(self, free_bytes: int) -> tuple[LinkDriving, int]:
        """Return how the links are driven, and their RAM, of `free_bytes` beside the arena."""
        links = [(link.uart, link.baud) for link in self.links]
        driving = choose_driver(self.board, links, self.requested, free_bytes - self._own_bytes)
        return driving, self._own_bytes + driving.ram_bytes(self.board, len(links))


def _host_ends(
    graph: Graph, widths: BitWidths, memory: BoardMemory, settings: LinkSettings, *, is_last: bool
) -> HostEnds:
    """Return the network's input and output on a board. One host alone sends an input once for several inferences."""
    takes_input = BufferId(NETWORK_INPUT) in memory.arena.offsets
    input_bytes = widths.size_bytes(graph, NETWORK_INPUT) if takes_input else 0
    output_bytes = widths.size_bytes(graph, len(graph.layers) - 1) if is_last else 0
    return HostEnds(input_bytes, output_bytes, keeps_input=settings.returns_output)


def _largest_layer(plan: BoardPlan, graph: Graph) -> str:
    """Return number and name of the layer that has most of the arena in use."""
    in_use = {number: sum(end - begin for begin, end in own) for number, own in plan.memory.in_use.items()}
    largest = max(in_use, key=lambda number: in_use[number])
    number = graph.parts[largest].tensor if graph.is_distributed else largest
    return f"layer {number + 1} {graph.layers[largest].name!r}"


def _check_arena(plan: BoardPlan, graph: Graph, ram_bytes: int, kept_bytes: int) -> None:
    """Raise CheckFailedError if arena, links and a kept input of `kept_bytes` do not fit."""
    arena_bytes, link_bytes = aligned(plan.arena.size_bytes), plan.link_ram_bytes
    if arena_bytes + link_bytes + kept_bytes > ram_bytes:
        board = board_title(plan.number, plan.board.name)
        of_links = f" and {link_bytes} bytes for its links" if link_bytes else ""
        of_input = f" and {kept_bytes} bytes for the input that it keeps" if kept_bytes else ""
        of_layer = f", most of it for {_largest_layer(plan, graph)}" if plan.memory.in_use else ""
        raise CheckFailedError(
            f"{board} has {ram_bytes} bytes for tensors, and this split needs an arena of {arena_bytes}{of_links}"
            f"{of_input}{of_layer}: split over more boards"
        )
