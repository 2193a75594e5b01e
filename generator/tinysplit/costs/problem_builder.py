"""Costs of layers on boards and of tensors on links: the splitting problem of a network."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, pairwise, starmap
from math import inf
from operator import ne
from typing import NamedTuple

from tinysplit.boards.board import Board, check_baud
from tinysplit.boards.link_driver import LinkDriver, possible_drivings
from tinysplit.common.choices import InputSource, LowPower, Optimize
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.cost_model import cost_model_of
from tinysplit.costs.handoff import direct_seconds, handoff_of, powers_of
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.stop_mode import with_stop_mode
from tinysplit.costs.transfers import check_connected, host_seconds, links_of
from tinysplit.kernels import Kernel
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.arena import live_by_step, live_bytes
from tinysplit.memory.fusion_search import FusedCosts, fused_costs
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import Schedule, layer_ram_bytes
from tinysplit.memory.link_memory import record_bytes
from tinysplit.memory.schedule import PlanStep
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.settings.costs import MAX_FLASH
from tinysplit.settings.programs import HOST_BAUD
from tinysplit.split.evaluate.actions import board_steps
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.evaluate.memory import link_bytes
from tinysplit.split.problem import (
    ConstantsInRam,
    DeviceLimits,
    FusedLayers,
    KernelCosts,
    LayerCosts,
    Problem,
    check_currents,
)

_MOST_BOARDS = 32  # of which kernels are kept


def make_problem(
    table: CycleTable,
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    widths: BitWidths | None = None,
    quantized: QuantizedGraph | None = None,
) -> Problem:
    """Return the splitting problem of `graph` on `boards` by a cost table; `widths` replaces the bits of `settings`.

    The integer weights of `quantized`, of the same network and widths, make the times of some kernels exact.

    Raises UsageError if a link UART cannot generate the baud rate, InputError if the links leave a board unconnected,
    CheckFailedError if a board is too small for the firmware alone, and ToolError if the cost table lacks a layer;
    InputError if energy is asked for, and the currents of a board are not known.
    """
    boards = settings.limited(boards)
    if settings.cost_model:
        baud = settings.link_settings_on(boards).baud
        problem = cost_model_of(settings.cost_model).problem(table, graph, boards, baud)
    else:
        widths = widths or BitWidths.of(graph, settings.bits)
        problem = _measured_problem(table, graph, boards, settings, widths, quantized)
    problem = replace(
        problem,
        objective=settings.objective,
        period_definition=settings.period_definition,
        max_latency_s=settings.max_latency_s,
        max_period_s=settings.max_period_s,
        max_energy_j=settings.max_energy_j,
        frame_period_s=settings.frame_period_s,
        may_stream=settings.may_stream and not graph.is_distributed,
    )
    if problem.asks_for_energy:
        check_currents(problem.devices)
    return with_stop_mode(problem, dict(enumerate(boards)), settings.low_power, settings.frame_period_s)


def make_problems(
    table: CycleTable,
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    widths: BitWidths | None = None,
    quantized: QuantizedGraph | None = None,
) -> list[Problem]:
    """Return the problem, and that without external memories if boards have some: together they may hold the network.

    Parameters and errors are those of `make_problem`.
    """
    problem = make_problem(table, graph, boards, settings, widths, quantized)
    if not any(board.external for board in boards):
        return [problem]
    without = [replace(board, external=None) for board in boards]
    inside = make_problem(table, graph, without, settings, widths, quantized)
    is_same = (inside.costs, inside.alone) == (problem.costs, problem.alone)
    return [problem] if is_same else [problem, inside]


def _measured_problem(
    table: CycleTable,
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    widths: BitWidths,
    quantized: QuantizedGraph | None,
) -> Problem:
    kernels = _board_kernels(table, graph, boards, settings, widths, quantized)
    link_settings = settings.link_settings_on(boards)
    costs = _costs_of(kernels)
    devices = tuple(
        _with_external(limits_of(table, boards, index, link_settings), own.choice) for index, own in enumerate(kernels)
    )
    out_bytes = [layer.out_bytes for layer in costs.layers]
    if not graph.is_distributed:  # which may leave boards out
        check_connected(boards, link_settings)
    host_baud = settings.host_baud_on(boards)
    for board in boards:
        check_baud(board, board.host_uart, host_baud, HOST_BAUD)
    in_bytes = widths.size_bytes(graph, NETWORK_INPUT)
    links_and_host = (link_settings, settings.bits_per_byte, host_baud)
    handoff = handoff_of(table, out_bytes, in_bytes, boards, *links_and_host, settings.input_source)
    if settings.low_power is not LowPower.SLEEP:
        handoff = handoff.without_host()
    elif settings.input_source is InputSource.BOARD:
        handoff = handoff.with_input_from_board()
    direct = direct_seconds(handoff)
    ram_bytes = [device.ram_bytes for device in devices]
    links = links_of(direct, out_bytes, ram_bytes, link_settings) if link_settings.named else None
    host_s = tuple(host_seconds(board, in_bytes, out_bytes[-1], host_baud, settings.input_source) for board in boards)
    problem = Problem(
        costs.layers,
        devices,
        links.transfer_seconds if links else direct,
        must_use_all=settings.use_all,
        links=links,
        host_seconds=host_s if settings.host_transfers else (),
        input_bytes=in_bytes,
        handoff=handoff,
        fused=costs.fused,
        origins=tuple(part.tensor for part in graph.parts),
        minimises_ram=settings.optimize is Optimize.RAM,
        keeps_state=graph.keeps_state,
    )
    if graph.is_distributed:
        return _with_arenas(problem, graph, widths, kernels)
    alone = [_first(replace(each, choice=each.choice.alone)) for each in kernels]
    return problem.with_costs(costs, _costs_of(alone))


def _costs_of(kernels: Sequence["_BoardKernels"]) -> KernelCosts:
    """Return the costs of layers on boards with these kernels, and of those that they may have in their place."""
    graph, smaller = kernels[0].choice.graph, [own.smaller for own in kernels]
    layers = tuple(_layer_costs(number, kernels) for number in range(len(graph.layers)))
    fused = () if graph.is_distributed else _fused_layers(layers, kernels)
    has_smaller = not graph.is_distributed and any(map(ne, smaller, kernels))
    return KernelCosts(layers, fused, _costs_of(smaller) if has_smaller else None)


def _with_arenas(problem: Problem, graph: Graph, widths: BitWidths, boards: Sequence["_BoardKernels"]) -> Problem:
    """Return the problem of a distributed network with its arenas: plans have no larger ones."""
    planned = board_steps(problem, graph.boards, transfers(problem, graph.boards))
    steps = [planned.get(board, []) for board in range(len(boards))]
    if problem.minimises_ram:
        small = frozenset(chain.from_iterable(starmap(_small_parts, zip(boards, steps, strict=True))))
        boards = [replace(own, small=small.intersection(own.choice.numbers)) for own in boards]
        problem = problem.with_costs(_costs_of(boards), small=small)
    recorded = replace(problem, record_bytes=tuple(record_bytes(own, graph) for own in steps))
    linked = link_bytes(recorded, graph.boards, (0,) * len(boards))
    free = (device.ram_bytes - linked[board] for board, device in enumerate(problem.devices))
    arenas = (
        Schedule(graph, widths, own, board.kernels).size_within(free_bytes)
        for own, board, free_bytes in zip(steps, boards, free, strict=True)
    )
    return replace(recorded, arena_bytes=tuple(arenas))


def _small_parts(board: "_BoardKernels", steps: Sequence[PlanStep]) -> Iterator[int]:
    """Yield the parts of a board whose fastest kernels, or those of other tiles of their layer, need a larger arena."""
    graph, widths = board.choice.graph, board.choice.widths
    least_bytes = Schedule(graph, widths, steps, board.smaller.kernels).size_bytes
    fast = Schedule(graph, widths, steps, board.kernels)
    live = live_by_step(fast.buffers())
    for number, step in fast.run_steps.items():
        if live_bytes(live[step]) > least_bytes:
            yield from graph.siblings(number)


def _board_kernels(
    table: CycleTable,
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    widths: BitWidths,
    quantized: QuantizedGraph | None,
) -> Sequence["_BoardKernels"]:
    """Return the kernels on each board: the same on boards of one kind, unless the network is distributed."""

    def choose(board: Board, index: int) -> _BoardKernels:
        choice = _choice(table, graph, widths, board, settings, index, is_alone=len(boards) == 1)
        return _BoardKernels(choice, settings.optimize, settings.kernels, quantized)

    if graph.is_distributed:
        return [choose(board, index) for index, board in enumerate(boards)]
    return [_first(choose(board, 0)) for board in boards]


def _choice(
    table: CycleTable,
    graph: Graph,
    widths: BitWidths,
    board: Board,
    settings: CostSettings,
    index: int,
    *,
    is_alone: bool,
) -> KernelChoice:
    has_residents = settings.optimize is not Optimize.RAM and not settings.has_weights_file
    own = (table, graph, widths, board, settings.code_memory, index, has_residents)
    return KernelChoice(*own, is_alone=is_alone).known


def lack_flash(table: CycleTable, graph: Graph, boards: Sequence[Board], settings: CostSettings) -> bool:
    """Return whether one of `boards` may have other kernels for the whole network with more flash."""
    widths, is_alone = BitWidths.of(graph, settings.bits), len(boards) == 1
    choices = (
        _choice(table, graph, widths, board, settings, 0, is_alone=is_alone) for board in settings.limited(boards)
    )
    return any(choice.lacks_flash for choice in choices)


class _LayerOnBoard(NamedTuple):
    """What a layer takes on a board, see `LayerCosts`."""

    flash_bytes: int
    ram_bytes: int
    seconds: float
    constants: ConstantsInRam


@dataclass(frozen=True)
class _BoardKernels:
    """The kernels of all layers on one board, and what they take."""

    choice: KernelChoice
    optimize: Optimize
    named: tuple[tuple[int, str], ...]
    quantized: QuantizedGraph | None
    small: frozenset[int] = frozenset()  # layers with smaller kernels

    @property
    def smaller(self) -> "_BoardKernels":
        """The kernels that some layers have in place of these: the same where no assignment asks for others."""
        for_flash = self.optimize is Optimize.CYCLES and self.choice.missing_flash_bytes(self.kernels)
        if not for_flash and self.optimize is not Optimize.RAM:
            return self
        other = _first(replace(self, small=frozenset(self.choice.numbers)))
        return self if other.kernels == self.kernels else other

    @cached_property
    def layers(self) -> Sequence[_LayerOnBoard]:
        """What each layer takes."""
        return tuple(
            _LayerOnBoard(
                self._flash_bytes(number), self._ram_bytes(number), self._seconds(number), self._constants(number)
            )
            for number in range(len(self.choice.graph.layers))
        )

    @cached_property
    def kernels(self) -> Mapping[int, Kernel]:
        """The kernel of each layer."""
        names, choice = dict(self.named), self.choice
        return {
            number: choice.of_goal(number, self.optimize, names.get(number), is_small=number in self.small)
            for number in choice.numbers
        }

    @cached_property
    def fused(self) -> Mapping[int, FusedCosts]:
        """See `fused_costs`."""
        choice = self.choice
        on_core = (self.kernels, choice.board.device.core, self.optimize)
        return fused_costs(choice.table, choice.graph, choice.widths, *on_core)

    def _seconds(self, number: int) -> float:
        """Return the time of a layer, infinite for a part of another board."""
        if number not in self.kernels:
            return inf
        return self.choice.seconds(number, self.kernels[number]) + self._cycles_of_values(number) / self.core_hz

    def _cycles_of_values(self, number: int) -> float:
        """Return the cycles that a layer takes more for its integer weights than is expected without them."""
        if self.quantized is None:
            return 0.0
        choice, kernel, of_values = self.choice, self.kernels[number], self.quantized.layers[number]
        layer = choice.graph.layers[number]
        layer_on_core = (choice.table, layer, choice.board.device.core, choice.widths.of_layer(layer), kernel)
        return kernel_cycles(*layer_on_core, quantized=of_values) - kernel_cycles(*layer_on_core)

    @property
    def core_hz(self) -> int:
        """The board's clock."""
        return self.choice.board.clock.core_hz

    def _constants(self, number: int) -> ConstantsInRam:
        """Return the copy of a layer's constants that `seconds` expects."""
        placed = self.choice.constants(number, self.kernels[number]) if number in self.kernels else None
        if not placed or not placed.is_copied:
            return ConstantsInRam(0, 0.0)
        return ConstantsInRam(placed.size_bytes, placed.saved_cycles / self.choice.board.clock.core_hz)

    def _ram_bytes(self, number: int) -> int:
        """Return the arena bytes while a layer runs alone."""
        if number not in self.kernels:
            return 0
        if self.choice.graph.is_distributed:
            return self.choice.live_bytes(number, self.kernels[number])
        return layer_ram_bytes(self.choice.graph, number, self.choice.widths, self.kernels[number])

    def _flash_bytes(self, number: int) -> int:
        """Return the bytes of a layer's constants and code."""
        return self.choice.flash_bytes(number, self.kernels[number]) if number in self.kernels else 0


@lru_cache(_MOST_BOARDS)
def _first(kernels: _BoardKernels) -> _BoardKernels:
    """Return the first of equal ones, with what it knows."""
    return kernels


def _fused_layers(layers: Sequence[LayerCosts], boards: Sequence[_BoardKernels]) -> tuple[FusedLayers, ...]:
    """Return the layers that take less RAM on some board where they are fused."""
    found = []
    for number, (first, second) in enumerate(pairwise(layers)):
        alone = tuple(FusedCosts(*each) for each in zip(first.ram_bytes, second.ram_bytes, strict=True))
        fused = tuple(board.fused.get(number, own) for board, own in zip(boards, alone, strict=True))
        if any(max(together) < max(apart) for together, apart in zip(fused, alone, strict=True)):
            found.append(FusedLayers(number, *zip(*fused, strict=True)))
    return tuple(found)


def _layer_costs(number: int, boards: Sequence[_BoardKernels]) -> LayerCosts:
    graph, widths = boards[0].choice.graph, boards[0].choice.widths
    own = [board.layers[number] for board in boards]
    return LayerCosts(
        name=graph.layers[number].name,
        flash_bytes=tuple(each.flash_bytes for each in own),
        ram_bytes=tuple(each.ram_bytes for each in own),
        out_bytes=widths.size_bytes(graph, number),
        seconds=tuple(each.seconds for each in own),
        inputs=graph.predecessors[number],
        constants=tuple(each.constants for each in own),
    )


def limits_of(table: CycleTable, boards: Sequence[Board], index: int, settings: LinkSettings) -> DeviceLimits:
    """Return the limits of a board, which may have links to all others."""
    return free_memory(table, boards[index], settings.driver, settings.highest_baud(index, len(boards)))


def _with_external(limits: DeviceLimits, choice: KernelChoice) -> DeviceLimits:
    """Return limits with the power of the external memory: its mean while layers run, and in standby."""
    external = choice.board.external
    if not external or not choice.external or not limits.run_w:
        return limits
    return replace(
        limits,
        run_w=limits.run_w + external.mean_w(choice.external_share),
        transfer_w=limits.transfer_w + external.standby_w,
        idle_w=limits.idle_w + external.standby_w,
    )


def free_memory(
    table: CycleTable, board: Board, driver: LinkDriver | None = None, link_baud: int | None = None
) -> DeviceLimits:
    """Return the flash that the firmware leaves free, and the largest possible arena.

    A board with a `link_baud` may have links up to this rate with `driver`, None for the one that fits: they take flash
    and RAM only in splits that use them.

    Raises CheckFailedError if the board is too small for the firmware alone.
    """
    firmware = table.firmware[board.device.family]
    flash_bytes = board.usable_flash_bytes - firmware.flash_bytes
    ram_bytes = board.largest_arena_bytes(firmware.ram_bytes)
    if flash_bytes < 0 or ram_bytes < 0:
        limit = "" if board.flash_limit_bytes is None else f" within {MAX_FLASH} {board.flash_limit_bytes}"
        raise CheckFailedError(
            f"{board.name} is too small{limit} for the firmware, which needs {firmware.flash_bytes} bytes of flash and "
            f"{firmware.ram_bytes} bytes of RAM"
        )
    power = asdict(powers_of(table, board, driver, link_baud))
    if link_baud is None:
        return DeviceLimits(board.name, flash_bytes, ram_bytes, **power, core=board.core)
    drivings = possible_drivings(board, board.link_uarts[0], driver, link_baud)
    link_flash_bytes = min(firmware.link_flash_bytes, flash_bytes)
    return DeviceLimits(
        board.name,
        flash_bytes - link_flash_bytes,
        ram_bytes,
        **power,
        link_flash_bytes=link_flash_bytes,
        driver_bytes=tuple(each.ram_bytes(board, 1) for each in drivings),
        core=board.core,
    )


def has_currents(table: CycleTable, board: Board) -> bool:
    """Return whether there is an energy model of a board: its file or the cost table has its currents."""
    return board.known_power is not None or board.name in table.currents
