"""What layers cost on boards and tensors on links: the splitting problem of a network, before anything is built."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from tinysplit.cycles import CycleTable, load_cycle_table
from tinysplit.errors import CheckFailedError
from tinysplit.graph import Graph
from tinysplit.hardware import Board, Uart, check_baud
from tinysplit.layers.base import FLOAT_BITS, Layer
from tinysplit.plan import layer_ram_bytes
from tinysplit.split.period import Period
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem
from tinysplit.techniques import Widths, choose
from tinysplit.wire import BITS_PER_BYTE, FRAME_OVERHEAD_BYTES, FRAME_PAYLOAD_BYTES

PAPER_BITS_PER_BYTE = 8  # formula 3 as published counts neither start nor stop bit

Table = tuple[tuple[tuple[float, ...], ...], ...]


@dataclass(frozen=True)
class CostSettings:
    """What the problem depends on beside network and boards.

    `bits` is the width of weights and values, `bits_per_byte` the bit times of a byte on a link. `paper` takes the
    conventions that seed 000's Tables 2 to 4 rest on in place of ours: float32, whole chips, Table 3's cycles per
    MACC, bare bytes of 8 bits on the links, every board used, and no cut before the last layer. `period` None stands
    for `load`, with `paper` for the period that Table 4 was computed with.
    """

    bits: int = 8
    baud: int = 115200
    bits_per_byte: int = BITS_PER_BYTE
    objective: Objective = Objective.LATENCY
    use_all: bool = False
    paper: bool = False
    period: Period | None = None
    max_latency_s: float = inf
    max_period_s: float = inf
    max_energy_j: float = inf
    frame_period_s: float = 0.0  # inputs come so often; 0: as fast as a split takes them

    @property
    def period_definition(self) -> Period:
        """The period that counts."""
        return self.period or (Period.PAPER if self.paper else Period.LOAD)


def make_problem(graph: Graph, boards: Sequence[Board], settings: CostSettings) -> Problem:
    """Return the splitting problem of `graph` on `boards`.

    Raises UsageError when a link UART cannot make the baud rate, CheckFailedError when a board is too small for the
    firmware alone.
    """
    problem = _paper_problem(graph, boards, settings) if settings.paper else _own_problem(graph, boards, settings)
    return replace(
        problem,
        objective=settings.objective,
        period_definition=settings.period_definition,
        max_latency_s=settings.max_latency_s,
        max_period_s=settings.max_period_s,
        max_energy_j=settings.max_energy_j,
        frame_period_s=settings.frame_period_s,
    )


def layer_cycles(layer: Layer, core: str, bits: int) -> float:
    """Return the cycles of our kernel for `layer` on a core ("cortex-m4"), as fitted to measurements."""
    technique = choose(layer, core, Widths.all(bits))
    return load_cycle_table().kernel(core, bits, technique.cost_kind(layer)).cycles(layer)


def link_seconds(n_bytes: int, sender: Uart, receiver: Uart, baud: int, bits_per_byte: int = BITS_PER_BYTE) -> float:
    """Return the seconds from the first bit of a tensor to the last of its last frame's acknowledgement.

    Data frames go back to back, the earlier acknowledgements against their stream (docs/protocol.md, Links). Both
    ends use the rates that their clocks really make.
    """
    n_frames = -(-n_bytes // FRAME_PAYLOAD_BYTES)
    data_bytes = n_bytes + n_frames * FRAME_OVERHEAD_BYTES
    return bits_per_byte * (data_bytes / sender.actual_baud(baud) + FRAME_OVERHEAD_BYTES / receiver.actual_baud(baud))


def _own_problem(graph: Graph, boards: Sequence[Board], settings: CostSettings) -> Problem:
    table, bits = load_cycle_table(), settings.bits
    widths = Widths.all(bits)
    if len(boards) > 1:
        for board in boards:
            check_baud(board, board.link_uarts[0], settings.baud)

    def costs(layer: Layer) -> LayerCosts:
        cores = [board.device.core for board in boards]
        techniques = [choose(layer, core, widths) for core in cores]
        kernels = [
            table.kernel(core, bits, technique.cost_kind(layer))
            for core, technique in zip(cores, techniques, strict=True)
        ]
        scratch_bytes = max(technique.scratch_bytes(layer, widths) for technique in techniques)
        in_bytes, out_bytes = (shape.size * bits // 8 for shape in (layer.in_shape, layer.out_shape))
        return LayerCosts(
            name=layer.name,
            flash_bytes=max(technique.weights_bytes(layer, widths) for technique in techniques)
            + max(kernel.code_bytes for kernel in kernels),
            ram_bytes=layer_ram_bytes(in_bytes, out_bytes, scratch_bytes),
            out_bytes=out_bytes,
            seconds=tuple(
                kernel.cycles(layer) / board.clock.core_hz for kernel, board in zip(kernels, boards, strict=True)
            ),
        )

    def cut_seconds(n_bytes: int, sender: Board, receiver: Board) -> float:
        line_s = link_seconds(
            n_bytes, sender.link_uarts[0], receiver.link_uarts[0], settings.baud, settings.bits_per_byte
        )
        return line_s + sum(table.link[board.device.core] / board.clock.core_hz for board in (sender, receiver))

    layers = tuple(map(costs, graph.layers))
    devices = tuple(_free_memory(board, table) for board in boards)
    return Problem(layers, devices, _transfers(layers, boards, cut_seconds), must_use_all=settings.use_all)


def _free_memory(board: Board, table: CycleTable) -> DeviceLimits:
    """Return what the firmware leaves of flash and of the memory that holds the arena."""
    own = table.firmware[board.device.family]
    flash_bytes = board.device.flash.size_bytes - own.flash_bytes
    ram_bytes = board.device.arena_memory.size_bytes - own.ram_bytes
    if flash_bytes < 0 or ram_bytes < 0:
        raise CheckFailedError(
            f"{board.name} is too small for the firmware: {own.flash_bytes} bytes of flash and {own.ram_bytes} of RAM"
        )
    return DeviceLimits(board.name, flash_bytes, ram_bytes)


def _paper_problem(graph: Graph, boards: Sequence[Board], settings: CostSettings) -> Problem:
    """Return the problem that seed 000's tables were computed with.

    X-CUBE-AI lets the output overwrite the input, so a layer needs the RAM of the larger of the two (and a row more,
    which is left out).
    """
    layers = tuple(
        LayerCosts(
            name=layer.name,
            flash_bytes=layer.weights_bytes(FLOAT_BITS),
            ram_bytes=max(layer.in_shape.size, layer.out_shape.size) * FLOAT_BITS // 8,
            out_bytes=layer.out_shape.size * FLOAT_BITS // 8,
            seconds=tuple(layer.macc * board.published_cpm / board.published_hz for board in boards),
        )
        for layer in graph.layers
    )
    devices = tuple(
        DeviceLimits(board.name, board.published_flash_bytes, board.published_ram_bytes) for board in boards
    )
    transfers = _transfers(layers, boards, lambda n_bytes, *_: n_bytes * PAPER_BITS_PER_BYTE / settings.baud)
    return Problem(layers, devices, transfers, must_use_all=True, keep_last_two=True)


def _transfers(
    layers: Sequence[LayerCosts], boards: Sequence[Board], cut_seconds: Callable[[int, Board, Board], float]
) -> Table:
    """Return T of the cut behind each layer, [layer][from][to]."""
    return tuple(
        tuple(
            tuple(0.0 if i == h else cut_seconds(layer.out_bytes, boards[i], boards[h]) for h in range(len(boards)))
            for i in range(len(boards))
        )
        for layer in layers
    )
