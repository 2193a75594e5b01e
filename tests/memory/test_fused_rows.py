"""Fused layers: the rows of every tile, the halo, padding and the in-place lead."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from session.profiles import cases
from tinysplit.common.choices import Optimize
from tinysplit.kernels import choose
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.kernels.in_place import Lead
from tinysplit.memory.fused_rows import FusedRows
from tinysplit.memory.fusion_search import fuse_layers
from tinysplit.memory.layout import Schedule
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.layers import Conv, DepthwiseConv, Layer, MaxPool, Pads, Shape, Window
from tinysplit.network.network_builder import NetworkBuilder

M4, M0 = "cortex-m4", "cortex-m0plus"
PADDING = -1


def layers(net: NetworkBuilder) -> tuple[Layer, Layer]:
    producer, consumer = net.layers
    return producer, consumer


def test_a_pool_is_fused_with_its_convolution() -> None:
    conv, pool = layers(NetworkBuilder("n", Shape(11, 9, 1)).conv(8, (3, 3), padded=False).max_pool(2, 3))
    fused = FusedRows.of(conv, pool)
    assert fused is not None
    assert (fused.tiles, fused.producer.in_shape, fused.consumer.in_shape) == (3, Shape(4, 9, 1), Shape(2, 7, 8))
    assert (fused.in_row_stride, fused.out_tile_stride, fused.tile_size) == (9, 2 * 8, 2 * 7 * 8)
    assert (fused.producer_calls, fused.halo_rows, fused.has_padding) == (3, 0, False)
    assert fused.lead(Widths.all(8)) == Lead(16 - 27)  # after the first tile, before the second


def test_tiles_of_a_depthwise_layer_share_a_halo() -> None:
    conv, depthwise = layers(NetworkBuilder("n", Shape(16, 6, 4)).conv(8).depthwise((3, 3), stride=2))
    fused = FusedRows.of(conv, depthwise, 2)
    assert fused is not None
    assert (fused.tiles, fused.tile_rows, fused.halo_rows, fused.pad_top) == (4, 5, 1, 1)
    assert (fused.call_rows, fused.producer_calls, fused.moved_size) == (1, 16, 3 * 6 * 8)
    assert fused.producer.in_shape == Shape(1, 6, 4)
    assert fused.consumer.out_shape == Shape(2, 3, 8)


def test_layers_that_cannot_be_fused() -> None:
    padded, pool = layers(NetworkBuilder("n", Shape(11, 9, 1)).conv(8, (3, 3)).max_pool(2, 2))
    assert FusedRows.of(padded, pool) is None
    assert FusedRows.of(pool, padded) is None
    conv, pool = layers(NetworkBuilder("n", Shape(11, 9, 1)).conv(8, (3, 3), padded=False).max_pool(3, 2))
    assert FusedRows.of(conv, pool) is not None
    assert FusedRows.of(conv, pool, 3) is None  # of four rows
    assert FusedRows.of(conv, pool, 4) is None  # all of them
    assert isinstance(pool, MaxPool)
    assert FusedRows.of(conv, replace(pool, window=Window((3, 3), (2, 2), pads=Pads(1, 0, 1, 0)))) is None
    conv, depthwise = layers(NetworkBuilder("n", Shape(8, 5, 1)).conv(3).depthwise((3, 3)))
    assert FusedRows.of(conv, depthwise) is None  # 15 bytes per row
    window = Window((1, 1), (2, 2), pads=Pads(1, 0, 1, 0))
    for width, can_be_filled in ((15, False), (16, True)):  # whose first tile is padding alone
        conv, pointwise = layers(NetworkBuilder("n", Shape(6, width, 1)).conv(17).conv(4))
        assert isinstance(pointwise, Conv)
        assert (FusedRows.of(conv, replace(pointwise, window=window)) is not None) == can_be_filled


def random_pair(rng: np.random.Generator) -> tuple[Layer, Layer]:
    """Return a convolution without padding above and below, and a layer with any window behind it."""
    net = NetworkBuilder("n", Shape(int(rng.integers(6, 16)), 8, 4))
    net.conv(4, (int(rng.integers(1, 4)), 1), int(rng.integers(1, 3)), padded=False)
    kernel, stride, dilation, above, below = rng.integers((1, 1, 1, 0, 0), (6, 4, 3, 4, 4)).tolist()
    window = Window((kernel, 1), (stride, 1), (dilation, 1), Pads(above, 0, below, 0))
    net.depthwise((kernel, 1)) if rng.integers(2) else net.conv(4, (kernel, 1))
    producer, consumer = layers(net)
    assert isinstance(consumer, Conv | DepthwiseConv)
    return producer, replace(consumer, window=window)


def tiles_of(fused: FusedRows) -> Iterator[tuple[list[int], list[int]]]:
    """Yield for every tile its rows of the producer's output, and those of them that are computed for it."""
    between = [PADDING] * fused.tile_rows
    for tile in range(fused.tiles):
        computed: list[int] = []
        for row in range(fused.halo_rows if tile else 0, fused.tile_rows, fused.call_rows):
            first = tile * fused.tile_stride + row - fused.pad_top
            fresh = list(range(first, first + fused.call_rows))
            inside = 0 <= first < fused.height
            assert all((0 <= each < fused.height) == inside for each in fresh)
            between[row : row + fused.call_rows] = fresh if inside else [PADDING] * fused.call_rows
            computed += fresh if inside else []
        yield list(between), computed
        between[: fused.halo_rows] = between[fused.tile_stride : fused.tile_stride + fused.halo_rows]


@pytest.mark.parametrize("seed", range(cases(quick=30, full=150, nightly=2000)))
def test_every_tile_holds_the_rows_under_its_windows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    producer, consumer = random_pair(rng)
    heights = (producer.out_shape.height, consumer.out_shape.height)
    found = [fused for rows in range(1, heights[1]) if (fused := FusedRows.of(producer, consumer, rows))]
    assert found or heights[1] < 2
    for fused in found:
        tiles, calls, computed = list(tiles_of(fused)), 0, []
        for tile, (between, fresh) in enumerate(tiles):
            begin = tile * fused.tile_stride - fused.pad_top
            rows = range(begin, begin + fused.tile_rows)
            assert between == [row if 0 <= row < heights[0] else PADDING for row in rows]
            calls += len(fresh) // fused.call_rows
            computed += fresh
        assert len(set(computed)) == len(computed)
        assert calls == fused.producer_calls
        assert fused.has_padding == any(PADDING in between for between, _ in tiles)
        lead, least = fused.lead(Widths.all(8)).least_bytes, least_lead(fused, [fresh for _, fresh in tiles])
        assert lead == least or (lead > least and not all(fresh for _, fresh in tiles))
        assert fused.tiles * fused.consumer.out_shape.height == heights[1]


def least_lead(fused: FusedRows, computed: list[list[int]]) -> int:
    """Return how far the output has to begin before the input, from each tile and all later ones."""
    leads = [
        (tile + 1) * fused.out_tile_stride - row * fused.in_row_stride
        for tile in range(fused.tiles)
        for later in computed[tile + 1 :]
        for row in later
    ]
    return max(leads, default=Lead(-(1 << 31)).least_bytes)


def schedule_of(net: NetworkBuilder, core: str = M4, bits: int = 8) -> Schedule:
    graph = net.average_pool().graph()
    kernels = {
        number: choose(shipped_table(), layer, core, Widths.all(bits)) for number, layer in enumerate(graph.layers)
    }
    steps = [PlanStep(StepKind.RUN, number, number) for number in kernels]
    return Schedule(graph, BitWidths.all(graph, bits), steps, kernels)


@pytest.mark.parametrize("core", [M4, M0])
@pytest.mark.parametrize("bits", [8, 16])
def test_tiles_are_as_high_as_the_arena_allows(core: str, bits: int) -> None:
    net = NetworkBuilder("n", Shape(32, 32, 8)).conv(16).depthwise((3, 3), stride=2).conv(16).conv(24)
    whole = schedule_of(net, core, bits)
    fused = fuse_layers(shipped_table(), whole, core, Optimize.RAM)
    assert list(fused.fused) == [0]
    assert fused.size_bytes < 0.8 * whole.size_bytes
    conv, depthwise, *_ = whole.graph.layers
    lowest, higher = (FusedRows.of(conv, depthwise, rows) for rows in (1, 2 * fused.fused[0].consumer.out_shape.height))
    assert lowest is not None
    assert replace(whole, fused={0: lowest}).size_bytes == fused.size_bytes
    assert higher is None or replace(whole, fused={0: higher}).size_bytes > fused.size_bytes


def test_no_layer_is_fused_twice() -> None:
    net = NetworkBuilder("n", Shape(24, 16, 4)).conv(16).conv(16, (3, 3), padded=False).max_pool(2, 2)
    fused = fuse_layers(shipped_table(), schedule_of(net.conv(16).depthwise((3, 3), stride=2)), M4, Optimize.RAM)
    pairs = [number for producer in fused.fused for number in (producer, producer + 1)]
    assert pairs
    assert len(set(pairs)) == len(pairs)


def test_fusion_costs_no_cycles_unless_ram_is_the_objective() -> None:
    whole = schedule_of(NetworkBuilder("n", Shape(32, 32, 4)).conv(8).depthwise((5, 3), stride=2).conv(8))
    quick, small = (fuse_layers(shipped_table(), whole, M4, optimize) for optimize in (Optimize.CYCLES, Optimize.RAM))
    assert small.fused[0].tile_rows < quick.fused[0].tile_rows
    assert small.size_bytes < quick.size_bytes < whole.size_bytes
