"""Cycles, arena and flash of kernels on virtual boards without firmware, with ideal memory and with the board's own.

Kernels are those that are chosen for the core, compiled with the flags of the generated projects; their outputs are
compared with the integer reference. Takes some 12 minutes in all.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from common.bare_network import BOARDS, BareRun, RealMemory, build_flags, plan_network, run_bare
from common.benchmark import BITS, JSON, ONLY, benchmark, boards, option
from common.networks import calibrated, chosen_networks
from common.tables import Cell, MarkdownTable
from tinysplit.boards.board import CodeMemory
from tinysplit.boards.catalog import load_board
from tinysplit.calibration.random_formats import LARGEST_VALUES, quantize_randomly
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import quantize_input
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats, quantize
from virtual_stm32 import Stalls

CORES = tuple(BOARDS)
ONE_OF_EACH_FAMILY = ("nucleo_g071rb", "nucleo_l4r5zi", "nucleo_f401re", "nucleo_h743zi")
KERNEL = option("--kernel", metavar="NAME", help="kernel or scheme for every layer that supports it, as in winograd")


@dataclass(frozen=True)
class Peer:
    """CMSIS-NN 7, its kernels called one after the other, int8, -Ofast, under the same cycle model."""

    cycles: dict[str, int]
    ram_bytes: int


PEERS = {
    "KWS": Peer({"cortex-m4": 8_800_000, "cortex-m0plus": 39_970_000}, 16_160),
    "ResNet-8": Peer({"cortex-m4": 34_460_000, "cortex-m0plus": 137_300_000}, 51_456),
}

# Cycles per MAC of the inner loop with full registers and grouped loads: a lower bound for any register blocking.
LIMITS = {
    ("cortex-m4", "dual_mac", 8): (8 + 4 + 1 + 2) / 16,  # 8 SMLAD, 4 loads, the first of them longer, 2 SXTB16
    ("cortex-m4", "dual_mac", 16): (8 + 6 + 2) / 16,  # weights take twice the loads, in two groups
    ("cortex-m7", "dual_mac", 8): 8 / 16,  # one SMLAD a cycle, everything else beside it
    ("cortex-m7", "dual_mac", 16): 8 / 16,
    ("cortex-m4", "long_mac", 8): (4 + 4 + 1) / 12,  # 4 SMLAL, 4 loads, the first of them longer
    ("cortex-m7", "long_mac", 8): 4 / 12,
    ("cortex-m7", "planes", 8): 3 * 8 / 36,
    ("cortex-m0plus", "packed", 8): (5 + 4 + 4 + 4) / 8,  # LDM of four words, two values, four double products, sums
    ("cortex-m0plus", "unpacked", 8): (5 + 4 + 4 + 4) / 8,
    ("cortex-m0plus", "wide", 16): (2 + 2 + 2 * (3 + 4 + 4 + 4)) / 8,  # two values, two LDM, halves, products, sums
    ("cortex-m0plus", "sliding", 8): (9 + 3 * (4 + 3 + 3)) / 9,  # three values, three LDM, products, sums
    ("cortex-m0plus", "sliding", 16): (12 + 3 * (4 + 3 + 3)) / 9,
    ("cortex-m4", "planes", 8): 3 * (8 + 5 + 1) / 36,  # a row of three taps for four outputs: 8 products, 5 loads
}


@dataclass(frozen=True)
class LayerRow:
    """One layer; `limit` is a lower bound of its cycles per MAC, None if unknown."""

    number: int
    kind: str
    output: str
    kernel: str
    cycles: int
    real_memory_cycles: int
    stalls: Stalls
    macc: int
    cycles_per_macc: float
    limit: float | None


@dataclass(frozen=True)
class Row:
    """One network on one board: `cycles` with ideal memory, and with the board's own."""

    network: str
    core: str
    board: str
    bits: int
    flags: str
    cycles: int
    real_memory_cycles: int
    macc: int
    cycles_per_macc: float
    arena_bytes: int
    flash_bytes: int
    peer_cycles: int | None
    peer_ram_bytes: int | None
    layers: tuple[LayerRow, ...]


def measure(options: Namespace) -> Iterator[Row]:
    """Yield a row for each network, bit width and board."""
    for name, network in chosen_networks(options.only).items():
        graph = network.graph()
        for bits in options.bits or (8, 16):
            for board in options.board or ONE_OF_EACH_FAMILY:
                core = load_board(board).device.core
                if not options.core or core in options.core:
                    quantized, x = calibrated(network, graph, bits, core)
                    yield _measured(name, board, quantized, quantize_input(quantized, x), options)


def _measured(name: str, board_name: str, quantized: QuantizedGraph, x: IntArray, options: Namespace) -> Row:
    bits, board = quantized.bits, load_board(board_name)
    plan = plan_network(quantized, board_name, bits, options.kernel)
    run = run_bare(
        shipped_table(),
        quantized,
        board_name,
        x,
        options.level,
        [plan.memory.kernels[number].name for number in range(len(quantized.layers))],
        has_real_memory=True,
        copied={number for number, each in plan.constants.items() if each.is_copied},
        resident={number for number, each in plan.constants.items() if each.residence},
        has_ram_code=plan.code.memory is CodeMemory.RAM,
    )
    if run.real is None:
        raise AssertionError("the run with real memory is missing")
    core, cycles, macc = board.device.core, sum(run.cycles), quantized.graph.macc
    peer = PEERS.get(name) if bits == 8 else None  # noqa: PLR2004 - int8
    flags = [flag for flag in build_flags(board) if flag.startswith("-O")]
    return Row(
        network=name,
        core=core,
        board=board_name,
        bits=bits,
        flags=options.level or flags[-1],
        cycles=cycles,
        real_memory_cycles=sum(run.real.cycles),
        macc=macc,
        cycles_per_macc=round(cycles / macc, 3),
        arena_bytes=plan.arena.size_bytes,
        flash_bytes=run.flash_bytes,
        peer_cycles=peer.cycles.get(core) if peer else None,
        peer_ram_bytes=peer.ram_bytes if peer else None,
        layers=tuple(_layers(core, bits, run, run.real)),
    )


def _layers(core: str, bits: int, run: BareRun, real: RealMemory) -> Iterator[LayerRow]:
    rows = zip(run.kernels, run.cycles, real.cycles, real.stalls, strict=True)
    for number, (source, cycles, real_cycles, stalls) in enumerate(rows, 1):
        layer, kernel = source.quantized.layer, source.kernel.name
        rate, limit = round(cycles / max(layer.macc, 1), 2), LIMITS.get((core, kernel, bits))
        shown = round(limit, 2) if limit else None
        shape = str(layer.out_shape)
        yield LayerRow(number, layer.kind, shape, kernel, cycles, real_cycles, stalls, layer.macc, rate, shown)


@benchmark(
    "networks",
    "10 minutes",
    ONLY,
    boards(*ONE_OF_EACH_FAMILY),
    BITS,
    KERNEL,
    JSON,
    option("--core", choices=CORES, action="append", help="only this core; repeat for several"),
    option("--level", default="", help="optimisation level of GCC, as in -O3"),
    option("--layers", action="store_true", help="print the layers of every network"),
)
def networks(options: Namespace) -> None:
    """Measure cycles, arena and flash of whole networks on one board, beside CMSIS-NN.

    With --layers also the cycles of every layer, beside the least of its inner loop, and its stalls: cycles for which
    the core waits for code, for constants in flash (weights), and for values in RAM. JSON has them always.
    """
    numbers = ("bits", "cycles, ideal", "real memory", "MACC", "cycles/MACC", "arena", "flash", "CMSIS-NN", "its RAM")
    rows = MarkdownTable("network", "board", "flags", numbers=numbers).print_rows(
        measure(options), _cells, as_json=options.json
    )
    for row in rows if options.layers and not options.json else []:
        _print_layers(row)


def _cells(row: Row) -> Sequence[Cell]:
    cycles = (row.cycles, row.real_memory_cycles, row.macc, f"{row.cycles_per_macc:.3f}")
    sizes = (row.arena_bytes, row.flash_bytes, row.peer_cycles, row.peer_ram_bytes)
    return row.network, row.board, row.flags, row.bits, *cycles, *sizes


def _print_layers(row: Row) -> None:
    stalls = ("waits: code", "weights", "values")
    numbers = ("#", "cycles, ideal", "cycles/MACC", "limit", "real memory", *stalls)
    print(f"\n{row.network}, {row.board}, {row.bits} bits, {row.flags}\n")
    MarkdownTable("kind", "output", "kernel", numbers=numbers).print(
        (
            layer.kind,
            layer.output,
            layer.kernel,
            layer.number,
            layer.cycles,
            f"{layer.cycles_per_macc:.2f}",
            None if layer.limit is None else f"{layer.limit:.2f}",
            layer.real_memory_cycles,
            layer.stalls.code,
            layer.stalls.constants,
            layer.stalls.values,
        )
        for layer in row.layers
    )


SHAPE_CORES = ("cortex-m4", "cortex-m0plus")
SHAPE_BITS = 8
LARGEST_RELU = 6.0


@dataclass(frozen=True)
class ShapeCase:
    """A shape: the network whose last layer it is, and the figures before on each of `SHAPE_CORES`."""

    name: str
    make: Callable[[], NetworkBuilder]
    before: tuple[float, float]


@dataclass(frozen=True)
class ShapeRow:
    """One shape on one core; `rate` and `before` are cycles per `unit`, or for networks the time with zero points."""

    name: str
    core: str
    kernel: str
    cycles: int
    unit: str
    rate: float
    before: float


def behind_relu(height: int, width: int, channels: int) -> NetworkBuilder:
    """Return a network whose output has this shape and no negative values."""
    return NetworkBuilder("shape", Shape(height, width, 4)).conv(channels)


SHAPES = (
    ShapeCase("average pool 2x2, 8 channels", lambda: behind_relu(24, 24, 8).average_pool(2), (7.96, 8.99)),
    ShapeCase("average pool 2x2, 6 channels", lambda: behind_relu(24, 24, 6).average_pool(2), (8.04, 9.94)),
    ShapeCase("average pool 3x3, 8 channels", lambda: behind_relu(24, 24, 8).average_pool(3), (4.08, 11.89)),
    ShapeCase("lookup", lambda: behind_relu(16, 16, 8).tanh(), (9.01, 12.01)),
    ShapeCase("depthwise 3x3, stride 2", lambda: behind_relu(24, 24, 16).depthwise((3, 3), 2), (3.5, 8.24)),
    ShapeCase("depthwise 3x3, 4x4 map", lambda: behind_relu(4, 4, 64).depthwise(), (2.49, 7.67)),
    ShapeCase("depthwise 3x3, 7x7 map", lambda: behind_relu(7, 7, 32).depthwise(), (2.7, 7.3)),
    ShapeCase("depthwise 5x5", lambda: behind_relu(16, 16, 16).depthwise((5, 5)), (4.75, 13.39)),
    ShapeCase("depthwise 5x5, stride 2", lambda: behind_relu(16, 16, 16).depthwise((5, 5), 2), (4.85, 13.29)),
    ShapeCase("depthwise 7x7", lambda: behind_relu(16, 16, 16).depthwise((7, 7)), (6.41, 9.45)),
    ShapeCase(
        "first 3x3, stride 2, 3 channels",
        lambda: NetworkBuilder("shape", Shape(48, 48, 3)).conv(8, (3, 3), 2),
        (1.73, 4.67),
    ),
    ShapeCase("first 3x3, 1 channel", lambda: NetworkBuilder("shape", Shape(28, 28, 1)).conv(16, (3, 3)), (2.28, 6.1)),
    ShapeCase("first 3x3, 4 channels", lambda: NetworkBuilder("shape", Shape(24, 24, 4)).conv(16, (3, 3)), (1.22, 3.8)),
    ShapeCase(
        "first 10x4, stride 2, 1 channel",
        lambda: NetworkBuilder("shape", Shape(49, 10, 1)).conv(64, (10, 4), 2),
        (1.4, 3.93),
    ),
    ShapeCase("pointwise, 8 to 16", lambda: behind_relu(24, 24, 8).conv(16), (2.02, 4.8)),
    ShapeCase("pointwise, 16 to 32", lambda: behind_relu(16, 16, 16).conv(32), (1.48, 3.63)),
    ShapeCase("ConvTranspose 2x2, stride 2", lambda: behind_relu(8, 8, 16).conv_transpose(8, (2, 2), 2), (14.82, 20.2)),
    ShapeCase(
        "ConvTranspose 3x3, stride 2", lambda: behind_relu(8, 8, 16).conv_transpose(8, (3, 3), 2), (14.29, 18.85)
    ),
    ShapeCase("grouped 3x3, 4 groups of 8", lambda: behind_relu(12, 12, 32).conv(32, (3, 3), groups=4), (5.64, 8.55)),
    ShapeCase("grouped 1x1, 4 groups of 16", lambda: behind_relu(12, 12, 64).conv(64, groups=4), (5.07, 8.55)),
    ShapeCase("1-D, 3 taps, dilation 4", lambda: behind_relu(1, 128, 32).conv(32, (1, 3), dilation=4), (4.51, 2.76)),
    ShapeCase("dense, 1024 to 32", lambda: behind_relu(8, 8, 16).dense(32), (1.38, 6.4)),
)


def measure_shapes(cores: Sequence[str], only: str, kernel: str | None) -> Iterator[ShapeRow]:
    """Yield a row for every shape whose name has `only` in it, and core."""
    for case in SHAPES:
        if only in case.name:
            quantized, x = quantize_randomly(case.make().graph(), SHAPE_BITS)
            for core in cores:
                run = run_bare(shipped_table(), quantized, BOARDS[core], x, named=kernel)
                layer, cycles = quantized.layers[-1].layer, run.cycles[-1]
                macc = layer.operator_macc
                unit = "MACC" if layer.parameters else "element"
                rate, own = round(cycles / macc, 2), run.kernels[-1].kernel.name
                yield ShapeRow(case.name, core, own, cycles, unit, rate, case.before[SHAPE_CORES.index(core)])


def separable() -> Graph:
    """Return a small network of separable convolutions, as KWS."""
    net = NetworkBuilder("separable", Shape(25, 10, 1)).conv(32, (10, 4), 2)
    net.depthwise().conv(32).depthwise().conv(32)
    return net.average_pool().dense(12).graph()


def residual() -> Graph:
    """Return a small residual network."""
    net = NetworkBuilder("residual", Shape(16, 16, 3)).conv(16, (3, 3))
    short = net.value
    net.conv(16, (3, 3)).conv(16, (3, 3)).add(short).conv(32, (3, 3), 2)
    return net.average_pool().dense(10).graph()


ZERO_POINT_NETWORKS = {"separable": (separable, (1.014, 1.107)), "residual": (residual, (1.018, 1.201))}


def with_zero_points(graph: Graph) -> tuple[QuantizedGraph, IntArray]:
    """Return a network whose values have all 256 steps of their range: zero points of -128 behind a ReLU."""
    rng = np.random.default_rng(1)
    formats = {graph.input_name: ValueFormat.of(SHAPE_BITS, 2 * LARGEST_VALUES[0] / 255, -1)}
    ranges = {graph.input_name: (-LARGEST_VALUES[0], LARGEST_VALUES[0])}
    for layer in graph.layers:
        low = layer.activation.low if np.isfinite(layer.activation.low) else -LARGEST_RELU
        formats[layer.output] = ValueFormat.of(SHAPE_BITS, (LARGEST_RELU - low) / 255, -128 if low == 0 else -1)
        ranges[layer.output] = (low, LARGEST_RELU)
    quantized = quantize(graph, choose_formats(graph, ranges, SHAPE_BITS, formats), SHAPE_BITS)
    x = quantized.input_formats[0].quantize(rng.uniform(*ranges[graph.input_name], (1, *graph.in_shape)))
    return quantized, x


def measure_zero_points(cores: Sequence[str], only: str) -> Iterator[ShapeRow]:
    """Yield the time of networks with zero points, relative to that without."""
    for name, (make, before) in ZERO_POINT_NETWORKS.items():
        title = f"zero points, {name}"
        for core in cores if only in title else ():
            cycles = _cycles(*with_zero_points(make()), core)
            plain = _cycles(*quantize_randomly(make(), SHAPE_BITS), core)
            yield ShapeRow(
                title, core, "", cycles, "network", round(cycles / plain, 3), before[SHAPE_CORES.index(core)]
            )


def _cycles(quantized: QuantizedGraph, x: IntArray, core: str) -> int:
    return sum(run_bare(shipped_table(), quantized, BOARDS[core], x).cycles)


@benchmark(
    "shapes",
    "2 minutes",
    ONLY,
    KERNEL,
    JSON,
    option("--core", choices=SHAPE_CORES, action="append", help="only this core; repeat for several"),
)
def shapes(options: Namespace) -> None:
    """Measure cycles per MAC, or per element, of layer shapes that are far from the limits of the cores.

    Every shape is the last layer of a small network with random weights and ranges, 8 bits, with ideal memory. `before`
    are the figures of the version that had no kernels for these shapes. The last rows are whole networks with zero
    points, as networks quantized by others have them, and their time relative to formats without zero points.
    """
    cores = options.core or SHAPE_CORES

    def rows() -> Iterator[ShapeRow]:
        yield from measure_shapes(cores, options.only, options.kernel)
        yield from measure_zero_points(cores, options.only)

    MarkdownTable("shape", "core", "kernel", "per", numbers=("cycles", "rate", "before")).print_rows(
        rows(),
        lambda row: (row.name, row.core, row.kernel, row.unit, row.cycles, f"{row.rate:.2f}", f"{row.before:.2f}"),
        as_json=options.json,
    )
