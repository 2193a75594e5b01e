"""How layers walk together in bands of rows: what lies between them in each band, and how their tensors may overlap."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tinysplit.kernels import Optimize, choose
from tinysplit.kernels.in_place import Lead
from tinysplit.memory.fused_rows import Bands
from tinysplit.memory.fusion_search import in_bands
from tinysplit.memory.layout import Schedule
from tinysplit.memory.schedule import Step, StepKind
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.layers import Conv, DepthwiseConv, Layer, MaxPool, Pads, Shape, Window
from tinysplit.reproduce.network_builder import NetworkBuilder

M4, M0 = "cortex-m4", "cortex-m0plus"
PADDING = -1


def layers(net: NetworkBuilder) -> tuple[Layer, Layer]:
    producer, consumer = net.layers
    return producer, consumer


def test_a_pool_takes_the_rows_of_its_convolution() -> None:
    conv, pool = layers(NetworkBuilder("n", Shape(11, 9, 1)).conv(8, (3, 3), padded=False).max_pool(2, 3))
    bands = Bands.of(conv, pool)
    assert bands is not None
    assert (bands.count, bands.producer.in_shape, bands.consumer.in_shape) == (3, Shape(4, 9, 1), Shape(2, 7, 8))
    assert (bands.in_step, bands.out_step, bands.rows_size) == (9, 2 * 8, 2 * 7 * 8)
    assert (bands.calls, bands.shared, bands.has_padding) == (3, 0, False)
    assert bands.lead(Widths.all(8)) == Lead(16 - 27)  # behind the first band, before the second


def test_a_depthwise_layer_keeps_the_rows_that_bands_share() -> None:
    conv, depthwise = layers(NetworkBuilder("n", Shape(16, 6, 4)).conv(8).depthwise((3, 3), stride=2))
    bands = Bands.of(conv, depthwise, 2)
    assert bands is not None
    assert (bands.count, bands.rows, bands.shared, bands.above) == (4, 5, 1, 1)
    assert (bands.unit, bands.calls, bands.moved_size) == (1, 16, 3 * 6 * 8)
    assert bands.producer.in_shape == Shape(1, 6, 4)
    assert bands.consumer.out_shape == Shape(2, 3, 8)


def test_what_cannot_walk_together() -> None:
    padded, pool = layers(NetworkBuilder("n", Shape(11, 9, 1)).conv(8, (3, 3)).max_pool(2, 2))
    assert Bands.of(padded, pool) is None
    assert Bands.of(pool, padded) is None
    conv, pool = layers(NetworkBuilder("n", Shape(11, 9, 1)).conv(8, (3, 3), padded=False).max_pool(3, 2))
    assert Bands.of(conv, pool) is not None
    assert Bands.of(conv, pool, 3) is None  # of four rows
    assert Bands.of(conv, pool, 4) is None  # all of them
    assert isinstance(pool, MaxPool)
    assert Bands.of(conv, replace(pool, window=Window((3, 3), (2, 2), pads=Pads(1, 0, 1, 0)))) is None
    conv, depthwise = layers(NetworkBuilder("n", Shape(8, 5, 1)).conv(3).depthwise((3, 3)))
    assert Bands.of(conv, depthwise) is None  # 15 bytes a row
    window = Window((1, 1), (2, 2), pads=Pads(1, 0, 1, 0))
    for width, bands_can_be_filled in ((15, False), (16, True)):  # whose first band is nothing but padding
        conv, pointwise = layers(NetworkBuilder("n", Shape(6, width, 1)).conv(17).conv(4))
        assert isinstance(pointwise, Conv)
        assert (Bands.of(conv, replace(pointwise, window=window)) is not None) == bands_can_be_filled


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


def walk(bands: Bands) -> Iterator[tuple[list[int], list[int]]]:
    """Yield for every band the rows of the map that lie between the layers, and those computed for it."""
    between = [PADDING] * bands.rows
    for band in range(bands.count):
        computed: list[int] = []
        for row in range(bands.shared if band else 0, bands.rows, bands.unit):
            first = band * bands.step + row - bands.above
            fresh = list(range(first, first + bands.unit))
            inside = 0 <= first < bands.height
            assert all((0 <= each < bands.height) == inside for each in fresh)
            between[row : row + bands.unit] = fresh if inside else [PADDING] * bands.unit
            computed += fresh if inside else []
        yield list(between), computed
        between[: bands.shared] = between[bands.step : bands.step + bands.shared]


@pytest.mark.parametrize("seed", range(300))
def test_every_band_holds_the_rows_under_its_windows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    producer, consumer = random_pair(rng)
    heights = (producer.out_shape.height, consumer.out_shape.height)
    found = [bands for rows in range(1, heights[1]) if (bands := Bands.of(producer, consumer, rows))]
    assert found or heights[1] < 2
    for bands in found:
        bands_of_rows, calls, computed = list(walk(bands)), 0, []
        for band, (between, fresh) in enumerate(bands_of_rows):
            begin = band * bands.step - bands.above
            rows = range(begin, begin + bands.rows)
            assert between == [row if 0 <= row < heights[0] else PADDING for row in rows]
            calls += len(fresh) // bands.unit
            computed += fresh
        assert len(set(computed)) == len(computed)
        assert calls == bands.calls
        assert bands.has_padding == any(PADDING in between for between, _ in bands_of_rows)
        lead, least = bands.lead(Widths.all(8)).least_bytes, least_lead(bands, [fresh for _, fresh in bands_of_rows])
        assert lead == least or (lead > least and not all(fresh for _, fresh in bands_of_rows))
        assert bands.count * bands.consumer.out_shape.height == heights[1]


def least_lead(bands: Bands, computed: list[list[int]]) -> int:
    """Return how far the output has to begin before the input, by looking at each band and all behind it."""
    leads = [
        (band + 1) * bands.out_step - row * bands.in_step
        for band in range(bands.count)
        for later in computed[band + 1 :]
        for row in later
    ]
    return max(leads, default=Lead(-(1 << 31)).least_bytes)


def schedule_of(net: NetworkBuilder, core: str = M4, bits: int = 8) -> Schedule:
    graph = net.average_pool().graph()
    kernels = {number: choose(layer, core, Widths.all(bits)) for number, layer in enumerate(graph.layers)}
    steps = [Step(StepKind.RUN, number, number) for number in kernels]
    return Schedule(graph, BitWidths.all(graph, bits), steps, kernels)


@pytest.mark.parametrize("core", [M4, M0])
@pytest.mark.parametrize("bits", [8, 16])
def test_bands_are_as_long_as_the_arena_allows(core: str, bits: int) -> None:
    net = NetworkBuilder("n", Shape(32, 32, 8)).conv(16).depthwise((3, 3), stride=2).conv(16).conv(24)
    whole = schedule_of(net, core, bits)
    walking = in_bands(whole, core, Optimize.RAM)
    assert list(walking.bands) == [0]
    assert walking.size_bytes < 0.8 * whole.size_bytes
    conv, depthwise, *_ = whole.graph.layers
    shortest, longer = (Bands.of(conv, depthwise, rows) for rows in (1, 2 * walking.bands[0].consumer.out_shape.height))
    assert shortest is not None
    assert replace(whole, bands={0: shortest}).size_bytes == walking.size_bytes
    assert longer is None or replace(whole, bands={0: longer}).size_bytes > walking.size_bytes


def test_no_layer_walks_with_two_others() -> None:
    net = NetworkBuilder("n", Shape(24, 16, 4)).conv(16).conv(16, (3, 3), padded=False).max_pool(2, 2)
    walking = in_bands(schedule_of(net.conv(16).depthwise((3, 3), stride=2)), M4, Optimize.RAM)
    pairs = [number for producer in walking.bands for number in (producer, producer + 1)]
    assert pairs
    assert len(set(pairs)) == len(pairs)


def test_bands_may_not_cost_time_unless_ram_is_all_that_counts() -> None:
    whole = schedule_of(NetworkBuilder("n", Shape(32, 32, 4)).conv(8).depthwise((5, 3), stride=2).conv(8))
    quick, small = (in_bands(whole, M4, optimize) for optimize in (Optimize.CYCLES, Optimize.RAM))
    assert small.bands[0].rows < quick.bands[0].rows
    assert small.size_bytes < quick.size_bytes < whole.size_bytes
