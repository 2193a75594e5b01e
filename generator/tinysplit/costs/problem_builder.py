"""Costs of layers on boards and of tensors on links: the splitting problem of a network."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf

from tinysplit.boards.board import Board, CodeMemory, Power, check_baud
from tinysplit.boards.link_driver import LinkDriver, possible_drivings
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.protocol_limits import BITS_PER_BYTE, HOST_BAUD
from tinysplit.costs.handoff import direct_seconds, handoff_of, transfer_w
from tinysplit.costs.link_options import HandOffMode, LinkSetting, LinkSettings
from tinysplit.costs.transfers import check_connected, host_seconds, links_of
from tinysplit.kernels import Kernel, Optimize
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.memory.fused_rows import rows_read
from tinysplit.memory.fusion_search import fused_ram_bytes
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import layer_ram_bytes
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers.base import FLOAT_BITS
from tinysplit.split.problem import (
    ConstantsInRam,
    DeviceLimits,
    FusedLayers,
    LayerCosts,
    Objective,
    Period,
    Problem,
    check_currents,
    last_two,
)

PAPER_BITS_PER_BYTE = 8  # Santamaria 2021, formula 3, counts neither start nor stop bit


@dataclass(frozen=True)
class CostSettings:
    """The parts of a problem that depend neither on the network nor on the boards.

    `bits` is the width of weights and values, `bits_per_byte` the bit times of a byte on a link. `paper` selects the
    conventions of Santamaria 2021, Tables 2 to 4: float32, the memory of the whole chip, Table 3's cycles per MAC,
    8 bit times per byte on links, every board used, and no cut before the last layer. `period` None means
    `firmware`, or with `paper` that of Table 4.
    """

    bits: int = 8
    baud: int = 115200
    host_baud: int = HOST_BAUD
    returns_output: bool = False  # to the board that reads the input, which keeps that
    bits_per_byte: int = BITS_PER_BYTE
    objective: Objective = Objective.LATENCY
    use_all: bool = False
    paper: bool = False
    period: Period | None = None
    max_latency_s: float = inf
    max_period_s: float = inf
    max_energy_j: float = inf
    frame_period_s: float = 0.0  # time between inputs; 0: as fast as a split takes them
    links: tuple[LinkSetting, ...] = ()  # exceptions from `baud`
    link_driver: LinkDriver | None = None  # None: chosen for each board
    hand_off: HandOffMode | None = None  # None: what is faster, for each cut
    host_transfers: bool = False  # whether host transfers count as latency
    optimize: Optimize = Optimize.CYCLES  # objective of kernels and memory layout
    kernels: tuple[tuple[int, str], ...] = ()  # (0-based layer, kernel or scheme to use)
    code_memory: CodeMemory | None = None  # of the layers; None: chosen for each board

    @property
    def link_settings(self) -> LinkSettings:
        """The links between all pairs of boards.

        Streamed hand-offs shorten I, but the cycles of their frames lengthen the period: for throughput they have to be
        asked for.
        """
        hand_off = self.hand_off or (HandOffMode.WHOLE if self.objective is Objective.THROUGHPUT else None)
        return LinkSettings(self.baud, self.links, self.link_driver, hand_off, self.returns_output)

    @property
    def period_definition(self) -> Period:
        """The definition of the period to use."""
        return self.period or (Period.PAPER if self.paper else Period.FIRMWARE)


def make_problem(
    graph: Graph, boards: Sequence[Board], settings: CostSettings, widths: BitWidths | None = None
) -> Problem:
    """Return the splitting problem of `graph` on `boards`; `widths` replaces the bits of `settings`.

    Raises UsageError if a link UART cannot generate the baud rate, InputError if the links leave a board unconnected,
    CheckFailedError if a board is too small for the firmware alone, and ToolError if the cost table lacks a layer;
    InputError if energy is asked for, and the currents of a board are not known.
    """
    if settings.paper:
        problem = _paper_problem(graph, boards, settings)
    else:
        problem = _measured_problem(graph, boards, settings, widths or BitWidths.of(graph, settings.bits))
    problem = replace(
        problem,
        objective=settings.objective,
        period_definition=settings.period_definition,
        max_latency_s=settings.max_latency_s,
        max_period_s=settings.max_period_s,
        max_energy_j=settings.max_energy_j,
        frame_period_s=settings.frame_period_s,
    )
    if problem.asks_for_energy:
        check_currents(problem.devices)
    return problem


def _measured_problem(graph: Graph, boards: Sequence[Board], settings: CostSettings, widths: BitWidths) -> Problem:
    table = load_cycle_table()
    kernels = _board_kernels(graph, boards, settings, widths)
    layers = tuple(_layer_costs(number, kernels) for number in range(len(graph.layers)))
    devices = tuple(_limits(boards, index, settings.link_settings) for index in range(len(boards)))
    out_bytes = [layer.out_bytes for layer in layers]
    if not graph.is_distributed:  # which may leave boards out
        check_connected(boards, settings.link_settings)
    for board in boards:
        check_baud(board, board.host_uart, settings.host_baud)
    in_bytes = widths.size_bytes(graph, NETWORK_INPUT)
    links_and_host = (settings.link_settings, settings.bits_per_byte, table, settings.host_baud)
    handoff = handoff_of(out_bytes, in_bytes, boards, *links_and_host)
    direct = direct_seconds(handoff, out_bytes, boards, settings.link_settings, settings.bits_per_byte, table)
    ram_bytes = [device.ram_bytes for device in devices]
    links = links_of(direct, out_bytes, ram_bytes, settings.link_settings) if settings.links else None
    host_s = tuple(host_seconds(board, in_bytes, out_bytes[-1], settings.host_baud) for board in boards)
    return Problem(
        layers,
        devices,
        links.transfer_seconds if links else direct,
        must_use_all=settings.use_all,
        links=links,
        host_seconds=host_s if settings.host_transfers else (),
        input_bytes=in_bytes,
        handoff=handoff,
        fused=() if graph.is_distributed else _fused_layers(layers, kernels),
        origins=tuple(part.tensor for part in graph.parts),
    )


def _board_kernels(
    graph: Graph, boards: Sequence[Board], settings: CostSettings, widths: BitWidths
) -> Sequence["_BoardKernels"]:
    """Return the kernels on each board: the same on boards of one kind, unless the network is distributed."""

    def choose(board: Board, index: int) -> _BoardKernels:
        return _BoardKernels(KernelChoice(graph, widths, board, settings.code_memory, index), settings)

    if graph.is_distributed:
        return [choose(board, index) for index, board in enumerate(boards)]
    chosen = {board: choose(board, 0) for board in boards}
    return [chosen[board] for board in boards]


@dataclass(frozen=True, eq=False)
class _BoardKernels:
    """The kernels of all layers on one board, and what they take."""

    choice: KernelChoice
    settings: CostSettings

    @cached_property
    def kernels(self) -> Mapping[int, Kernel]:
        """The kernel of each layer."""
        names = dict(self.settings.kernels)
        numbers = self.choice.numbers
        return {number: self.choice.kernel(number, self.settings.optimize, names.get(number)) for number in numbers}

    @cached_property
    def fused_ram_bytes(self) -> Mapping[int, tuple[int, int]]:
        """See `fused_ram_bytes`."""
        choice = self.choice
        core = choice.board.device.core
        return fused_ram_bytes(choice.graph, choice.widths, self.kernels, core, self.settings.optimize)

    def seconds(self, number: int) -> float:
        """Return the time of a layer, infinite for a part of another board."""
        if number not in self.kernels:
            return inf
        return self.choice.seconds(number, self.kernels[number])

    def constants(self, number: int) -> ConstantsInRam:
        """Return the copy of a layer's constants that `seconds` expects."""
        placed = self.choice.constants(number, self.kernels[number]) if number in self.kernels else None
        if not placed or not placed.is_copied:
            return ConstantsInRam(0, 0.0)
        return ConstantsInRam(placed.size_bytes, placed.saved_cycles / self.choice.board.clock.core_hz)

    def seconds_of_read_rows(self, number: int) -> float:
        """Return the time of a layer without the rows that the next one, its reader, leaves out."""
        layers = self.choice.graph.layers
        part = rows_read(*layers[number : number + 2])
        return self.choice.seconds(number, self.kernels[number], part)

    def ram_bytes(self, number: int) -> int:
        """Return the arena bytes while a layer runs alone."""
        if number not in self.kernels:
            return 0
        if self.choice.graph.is_distributed:
            return self.choice.live_bytes(number, self.kernels[number])
        return layer_ram_bytes(self.choice.graph, number, self.choice.widths, self.kernels[number])

    def flash_bytes(self, number: int) -> int:
        """Return the bytes of a layer's constants and code; for Optimize.RAM also those of its fastest kernel.

        The memory layout takes the fastest kernels that RAM allows.
        """
        if number not in self.kernels:
            return 0
        kernels = [self.kernels[number]]
        if self.settings.optimize is Optimize.RAM:
            kernels.append(self.choice.kernel(number, name=dict(self.settings.kernels).get(number)))
        return max(self.choice.flash_bytes(number, kernel) for kernel in kernels)


def _fused_layers(layers: Sequence[LayerCosts], boards: Sequence[_BoardKernels]) -> tuple[FusedLayers, ...]:
    """Return the layers that take less RAM on some board where they are fused."""
    found = []
    for number, (first, second) in enumerate(pairwise(layers)):
        alone = tuple(zip(first.ram_bytes, second.ram_bytes, strict=True))
        fused = tuple(board.fused_ram_bytes.get(number, own) for board, own in zip(boards, alone, strict=True))
        if any(max(together) < max(apart) for together, apart in zip(fused, alone, strict=True)):
            read_s = tuple(
                board.seconds_of_read_rows(number) if number in board.fused_ram_bytes else own_s
                for board, own_s in zip(boards, first.seconds, strict=True)
            )
            first_bytes, second_bytes = zip(*fused, strict=True)
            found.append(FusedLayers(number, first_bytes, second_bytes, read_s if read_s != first.seconds else ()))
    return tuple(found)


def _layer_costs(number: int, boards: Sequence[_BoardKernels]) -> LayerCosts:
    graph, widths = boards[0].choice.graph, boards[0].choice.widths
    return LayerCosts(
        name=graph.layers[number].name,
        flash_bytes=tuple(board.flash_bytes(number) for board in boards),
        ram_bytes=tuple(board.ram_bytes(number) for board in boards),
        out_bytes=widths.size_bytes(graph, number),
        seconds=tuple(board.seconds(number) for board in boards),
        inputs=graph.predecessors[number],
        constants=tuple(board.constants(number) for board in boards),
    )


def _limits(boards: Sequence[Board], index: int, settings: LinkSettings) -> DeviceLimits:
    """Return the limits of a board, which may have links to all others."""
    bauds = [settings.between(index, other).baud or 0 for other in range(len(boards)) if other != index]
    return free_memory(boards[index], settings.driver, max(bauds, default=None))


def free_memory(board: Board, driver: LinkDriver | None = None, link_baud: int | None = None) -> DeviceLimits:
    """Return the flash that the firmware leaves free, and the largest possible arena.

    A board with a `link_baud` may have links up to this rate with `driver`, None for the one that fits: they take flash
    and RAM only in splits that use them.

    Raises CheckFailedError if the board is too small for the firmware alone.
    """
    firmware = load_cycle_table().firmware[board.device.family]
    flash_bytes = board.device.flash.size_bytes - firmware.flash_bytes
    ram_bytes = board.largest_arena_bytes(firmware.ram_bytes)
    if flash_bytes < 0 or ram_bytes < 0:
        raise CheckFailedError(
            f"{board.name} is too small for the firmware, which needs {firmware.flash_bytes} bytes of flash and "
            f"{firmware.ram_bytes} bytes of RAM"
        )
    power = asdict(_powers(board, driver, link_baud))
    if link_baud is None:
        return DeviceLimits(board.name, flash_bytes, ram_bytes, **power)
    drivings = possible_drivings(board, board.link_uarts[0], driver, link_baud)
    link_flash_bytes = min(firmware.link_flash_bytes, flash_bytes)
    return DeviceLimits(
        board.name,
        flash_bytes - link_flash_bytes,
        ram_bytes,
        **power,
        link_flash_bytes=link_flash_bytes,
        driver_bytes=tuple(each.ram_bytes(board, 1) for each in drivings),
    )


def _powers(board: Board, driver: LinkDriver | None = None, link_baud: int | None = None) -> Power:
    """Return the powers of `DeviceLimits`; 0 where the currents of a board are not known."""
    table = load_cycle_table()
    measured = table.currents.get(board.name)
    power = Power.of(measured.run_ma, measured.sleep_ma) if measured else board.known_power
    if power is None:
        return Power(0.0, 0.0, 0.0)
    return replace(power, transfer_w=transfer_w(power, board, driver, link_baud, table))


def _paper_problem(graph: Graph, boards: Sequence[Board], settings: CostSettings) -> Problem:
    """Return the problem of Santamaria 2021, Tables 2 to 4.

    X-CUBE-AI lets the output overwrite the input, so that a layer needs the RAM of the larger of the two (and one row
    more, which is left out).
    """
    layers = tuple(
        LayerCosts.alike(
            name=layer.name,
            flash_bytes=layer.weights_bytes(FLOAT_BITS),
            ram_bytes=max(layer.in_shape.size, layer.out_shape.size) * FLOAT_BITS // 8,
            out_bytes=layer.out_shape.size * FLOAT_BITS // 8,
            seconds=tuple(layer.macc * board.published_cpm / board.published_hz for board in boards),
            inputs=inputs,
        )
        for layer, inputs in zip(graph.layers, graph.predecessors, strict=True)
    )
    devices = tuple(
        DeviceLimits(board.name, board.published_flash_bytes, board.published_ram_bytes, **asdict(_powers(board)))
        for board in boards
    )
    pairs = [[i != h for h in range(len(boards))] for i in range(len(boards))]
    transfers = tuple(
        tuple(
            tuple(layer.out_bytes * PAPER_BITS_PER_BYTE / settings.baud * crosses for crosses in row) for row in pairs
        )
        for layer in layers
    )
    return Problem(layers, devices, transfers, must_use_all=True, joined=last_two(len(layers)))
