"""Micro-networks for the calibration of the cost table: layers of many shapes of every kind; benchmarks use others."""

from dataclasses import replace

import numpy as np

from tinysplit.calibration.random_formats import LARGEST_VALUES
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Cell, Shape
from tinysplit.network.network_builder import RELU, NetworkBuilder

RANDOM_NETWORKS = range(12)  # seeds of the networks of the fit
UNSEEN_NETWORKS = range(100, 106)  # seeds of the networks for validation
ACTIVATIONS = (RELU, RELU, Activation(0, 6), Activation(0, 6), Activation())
KERNELS = ((1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (2, 2), (3, 1))
FIRST_KERNELS = ((3, 3), (3, 3), (5, 5), (10, 4), (7, 7), (3, 1))
WIDTHS = (2.0, 2.0, 1.0, 1.0, 1.25)  # channels of a block, relative to the block before
ODD_WIDTHS = (0, 0, 0, 2, -1)  # added to these channels
MOST_CHANNELS = 160
LARGEST_MAP = 14000  # values
LARGEST_FIRST = 32  # rows of the output of the first layer
SMALLEST_POOLED = 6
BYTE_BITS = 8
LARGEST_BYTE = 127
MOST_MACC = 1_600_000  # per layer: cycle counters have 24 bits


def calibration_networks() -> tuple[Graph, ...]:
    """Return the networks; with 16 bits the largest needs 28 000 bytes of RAM."""
    heavy = NetworkBuilder("heavy", Shape(8, 8, 24)).conv(32, (3, 3)).conv(170).conv(36).conv(150)
    return (
        _joined(),
        _residual(),
        _moved(),
        *_copied(),
        *_normalized(),
        *_attended(),
        *_recurrent(),
        *_classified(),
        heavy.conv(36).conv(20, (3, 3)).average_pool().dense(10).softmax().graph(),
        *_separable_networks(),
        *_spatial_networks(),
        *_networks_of_few_inputs(),
        *_plain_networks(),
        *_depthwise_networks(),
        *_networks_of_few_rows(),
        *_pooled_networks(),
        _summed(),
        _scaled(16),
        _scaled(24),
        *_concatenated(),
        *shape_networks(),
    )


def shape_networks() -> tuple[Graph, ...]:
    """Return networks of wide depthwise windows, convolutions with groups, pools and look-up tables."""
    wide = NetworkBuilder("wide", Shape(14, 18, 12)).depthwise((5, 5)).conv(10).depthwise((7, 7)).conv(16)
    wide.depthwise((5, 5), 2).conv(20).depthwise((4, 2)).depthwise((3, 7)).conv(30)
    strided = NetworkBuilder("strided", Shape(19, 23, 8)).depthwise((7, 7), 2).conv(24).depthwise((2, 4), 2)
    grouped = NetworkBuilder("grouped", Shape(11, 12, 16)).conv(24, (3, 3), groups=4).conv(32, (3, 3), groups=2)
    grouped.conv(24, groups=4).conv(12, (5, 5), 2, groups=2).conv(16, (1, 3), groups=2)
    multiplied = NetworkBuilder("multiplied", Shape(11, 12, 4)).conv(8, (3, 3), groups=4).conv(24, (5, 5), groups=8)
    multiplied.conv(12).conv(36, (3, 3), 2, groups=12).conv(9).conv(9, (3, 3), groups=9).conv(15).conv(45, groups=15)
    few = NetworkBuilder("few channels", Shape(12, 14, 3)).conv(2).conv(8, (3, 3)).conv(1).conv(4, (3, 3)).conv(3)
    few.conv(12, (3, 3)).conv(2).conv(6, (5, 5)).conv(8, (3, 3), 2).conv(1).conv(4, (5, 5)).conv(2).conv(8, (2, 3))
    pooled = NetworkBuilder("pooled", Shape(36, 40, 4)).conv(8).average_pool(2).tanh().conv(12).average_pool(3)
    pooled.conv(20).average_pool(2).conv(30)
    averaged = NetworkBuilder("averaged", Shape(45, 35, 3)).conv(6).average_pool(5).tanh().conv(18).average_pool(3)
    large = NetworkBuilder("large pools", Shape(28, 42, 4)).conv(16).average_pool(7).conv(10).average_pool(2)
    return (
        wide.average_pool().graph(),
        strided.depthwise((5, 5)).graph(),
        grouped.graph(),
        multiplied.graph(),
        few.graph(),
        pooled.dense(5).graph(),
        averaged.dense(5).graph(),
        large.dense(5).graph(),
    )


def _depthwise_networks() -> tuple[Graph, ...]:
    """Return networks of depthwise layers whose rows end with 0 to 3 outputs beside fours, deep and shallow ones."""
    shapes = (
        Shape(32, 32, 16),
        Shape(20, 6, 48),
        Shape(9, 9, 96),
        Shape(19, 23, 10),
        Shape(40, 64, 4),
        Shape(8, 8, 80),
    )
    clamps = (Activation(0, 6), RELU, Activation(), Activation(0, 6), RELU)
    networks = []
    for number, shape in enumerate(shapes):
        net = NetworkBuilder(f"depthwise {shape}", shape)
        for index, stride in enumerate((1, 1, 2, 1, 2, 1)):
            net.depthwise((3, 3), stride, clamps[(number + index) % len(clamps)])
        networks.append(net.graph())
    return tuple(networks)


def _networks_of_few_rows() -> tuple[Graph, ...]:
    """Return networks of maps as boards have them that divide layers by rows."""
    networks = []
    for number, shape in enumerate((Shape(1, 5, 64), Shape(3, 5, 40), Shape(1, 9, 24), Shape(2, 13, 16))):
        clamps = ACTIVATIONS[number:] + ACTIVATIONS[:number]
        net = NetworkBuilder(f"few rows {shape}", shape)
        net.depthwise(activation=clamps[0]).conv(64, activation=clamps[1]).depthwise(activation=clamps[2])
        net.conv(48, activation=clamps[3]).conv(24, (3, 3), activation=clamps[4]).conv(40, (3, 3)).conv(22).depthwise()
        networks.append(net.conv(36).dense(10).graph())
    return tuple(networks)


def _pooled_networks() -> tuple[Graph, ...]:
    """Return networks of pools of many sizes, on maps with channels in words and others, and softmax of many."""
    networks = []
    for channels in (16, 36, 50):
        net = NetworkBuilder(f"pooled {channels}", Shape(16, 16, channels))
        first = net.depthwise().value
        total = net.max_pool(3, 1).average_pool().value
        for size in (2, 3, 4, 5, 6, 7, 8):
            total = net.after(first).max_pool(size, size).average_pool().add(total).value
            total = net.after(first).average_pool(size).average_pool().add(total).value
        networks.append(net.after(first).average_pool().add(total).dense(10 * channels).softmax().graph())
    for columns, channels in ((3, 44), (4, 30), (5, 24), (5, 33)):
        tall = NetworkBuilder(f"tall {columns}x{channels}", Shape(5 * columns, columns, channels))
        networks.append(tall.depthwise().average_pool().dense(10).graph())
    return tuple(networks)


def _summed() -> Graph:
    """Return a network of sums of many pairs of formats."""
    net = NetworkBuilder("summed", Shape(12, 12, 20))
    total = net.depthwise().value
    value = total
    for index, activation in enumerate((*ACTIVATIONS, *ACTIVATIONS)):
        value = net.after(value).depthwise(activation=activation).value
        total = net.add(total, activation=ACTIVATIONS[index % 4 + 1]).value
    return net.conv(21).add(net.value).add(net.value, activation=Activation()).graph()


def _scaled(channels: int) -> Graph:
    """Return a network of sums and concatenations of values whose scales are no powers of two."""
    net = NetworkBuilder(f"scaled {channels}", Shape(12, 14, channels))
    for size in (2 * channels, channels):
        first = net.conv(size).value
        total = net.depthwise().add(first).value
        net.depthwise(activation=Activation()).add(total, activation=Activation()).conv(size).concat(total, first)
        net.conv(channels).max_pool(2, 2)
    graph = net.dense(10).graph()
    rng = np.random.default_rng(channels)
    scales = {name: rng.uniform(*LARGEST_VALUES) / LARGEST_BYTE for name in graph.value_names}
    return replace(graph, qdq_formats={name: ValueFormat(BYTE_BITS, scale) for name, scale in scales.items()})


def _concatenated() -> tuple[Graph, ...]:
    """Return networks that concatenate maps of few and many channels, which fill words or do not."""
    networks = []
    for sizes in ((1, 1), (2, 3, 1), (2, 2), (5, 7), (4, 4, 8), (8, 24), (12, 12), (32, 6, 16, 33), (64, 4), (3, 40)):
        net = NetworkBuilder(f"concatenated {sizes}", Shape(9, 8, 4))
        first = net.conv(4).value
        parts = [net.after(first).conv(size).value for size in sizes]
        net.after(parts[0]).concat(*parts[1:]).average_pool().concat(net.value)
        networks.append(net.dense(5).graph())
    return tuple(networks)


def _separable_networks() -> tuple[Graph, ...]:
    """Return networks of depthwise and pointwise layers."""
    pointwise = (
        NetworkBuilder("pointwise", Shape(10, 14, 20))
        .depthwise((3, 5))
        .conv(36)
        .depthwise()
        .conv(30)
        .conv(70, stride=2)
    )
    deep = (
        NetworkBuilder("deep", Shape(4, 6, 90))
        .depthwise()
        .conv(80)
        .depthwise((3, 3), 2)
        .conv(100)
        .depthwise((2, 2))
        .conv(50)
    )
    odd = NetworkBuilder("odd rows", Shape(27, 26, 8)).conv(12, stride=2).conv(22, stride=2).conv(33, stride=2)
    narrow = NetworkBuilder("narrow rows", Shape(18, 13, 16)).conv(8, stride=2).conv(20).conv(14, stride=2)
    return (
        odd.dense(5).graph(),
        narrow.dense(5).graph(),
        pointwise.max_pool(2, 1).average_pool().dense(40).softmax().graph(),
        deep.average_pool().conv(120).dense(96).dense(7).softmax().graph(),
    )


def _spatial_networks() -> tuple[Graph, ...]:
    """Return networks with windows and pools of several sizes."""
    image = NetworkBuilder("image", Shape(24, 24, 3)).conv(8, (3, 3)).depthwise().conv(14).depthwise((3, 3), 2).conv(24)
    digits = NetworkBuilder("digits", Shape(26, 26, 1)).conv(8, (3, 3)).max_pool(2, 2).conv(16, (3, 3)).max_pool(3, 2)
    sound = NetworkBuilder("sound", Shape(40, 12, 1)).conv(40, (12, 4), 2).depthwise((3, 3)).conv(56)
    mixed = (
        NetworkBuilder("mixed", Shape(15, 15, 9))
        .conv(15, (3, 3), 1, 2)
        .max_pool(3, 1)
        .conv(24, (3, 3), 2)
        .average_pool(2)
    )
    small = NetworkBuilder("small", Shape(7, 7, 16)).conv(32, (3, 3)).conv(48, (3, 3), padded=False)
    return (
        small.conv(24, (3, 3), padded=False).dense(10).graph(),
        image.max_pool(2, 2).conv(20, (3, 3)).conv(33, (2, 2)).average_pool().dense(10).softmax().graph(),
        digits.conv(16, (3, 3)).conv(10, (5, 5)).dense(84).dense(20).softmax().graph(),
        sound.average_pool().dense(12).softmax().graph(),
        mixed.conv(31, (3, 3)).dense(30).dense(64).dense(100).softmax().graph(),
    )


def _networks_of_few_inputs() -> tuple[Graph, ...]:
    """Return networks whose second layers are as first ones are, which are measured only where they take long."""
    shapes = (
        (Shape(30, 9, 1), 36, (8, 5), 2, True),
        (Shape(24, 24, 1), 12, (3, 3), 1, False),
        (Shape(27, 13, 1), 20, (3, 3), 1, True),
        (Shape(46, 11, 1), 24, (9, 3), 2, False),
        (Shape(22, 21, 1), 16, (5, 5), 1, True),
        (Shape(33, 7, 3), 24, (3, 3), 1, True),
        (Shape(40, 15, 2), 16, (5, 3), 2, True),
    )
    return tuple(
        NetworkBuilder(f"few inputs {number}", shape)
        .conv(shape.channels)
        .conv(filters, window, stride, padded=is_padded)
        .conv(filters)
        .graph()
        for number, (shape, filters, window, stride, is_padded) in enumerate(shapes)
    )


def _plain_networks() -> tuple[Graph, ...]:
    """Return networks of convolutions and pools, as small trained ones have them."""
    networks = []
    shapes = (20, 8, 16, 32), (16, 12, 24, 40), (14, 16, 20, 48), (18, 10, 30, 60), (8, 40, 64, 24)
    for side, first, second, third in shapes:
        net = NetworkBuilder(f"plain {first}", Shape(side, side, first)).conv(first, (3, 3)).conv(second, (3, 3))
        net.max_pool(2, 2).conv(third, (3, 3), padded=False).conv(second, (3, 3), 2)
        networks.append(net.dense(10).graph())
    return tuple(networks)


def _joined() -> Graph:
    """Return a network with branches and all joining layers, on maps of several sizes."""
    net = NetworkBuilder("joined", Shape(20, 20, 3))
    large = net.conv(9, (3, 3)).value
    gate = net.average_pool().conv(9).value
    twice = net.after(large).mul(gate).add(large).value
    wide = net.depthwise().concat(twice).max_pool(2, 2).conv(24).value
    second = net.depthwise().mul(wide).add(wide).value
    net.after(wide).concat(second, wide).conv(40, (1, 1), 2)
    small = net.value
    net.conv(40).add(small, small).mul(small)
    return net.concat(small).average_pool().dense(10).softmax().graph()


def _residual() -> Graph:
    """Return a network whose joining layers and pools process whole words."""
    net = NetworkBuilder("residual", Shape(16, 16, 8)).conv(16, (3, 3))
    first = net.value
    gate = net.average_pool().conv(16).value
    second = net.after(first).mul(gate).add(first).max_pool(2, 2).value
    net.conv(16).mul(second).conv(16).add(second).conv(16).concat(second).conv(24).max_pool(3, 2).conv(36)
    return net.add(net.value).average_pool(3).dense(10).graph()


def _moved() -> Graph:
    """Return a network of layers that upsample, move or transform values elementwise."""
    net = NetworkBuilder("moved", Shape(6, 8, 5)).conv(10).tanh().pad(1).prelu().upsample(2).transpose().tanh()
    net.max_pool(2, 2).conv_transpose(9, (3, 3), 2).prelu().max_pool(3, 3).pad(2).conv_transpose(6, (2, 2), 3)
    net.max_pool(2, 2).transpose().conv(8).upsample(3).tanh().max_pool(4, 4).transpose().prelu().conv(12)
    return (
        net.conv_transpose(20, (3, 2), 1).pad(1).max_pool(2, 2).upsample(2).average_pool().dense(10).softmax().graph()
    )


def _copied() -> tuple[Graph, ...]:
    """Return networks of layers that copy: shuffles, transposes, and parts by ranges, steps and tables."""
    every, evens = slice(None), slice(None, None, 2)
    networks = []
    for height, width, channels in ((12, 10, 16), (8, 9, 24), (16, 20, 8), (9, 7, 20)):
        net = NetworkBuilder(f"copied {channels}", Shape(height, width, channels)).conv(channels).shuffle(2)
        net.part(every, every, slice(channels // 2)).transpose().part(slice(1, -1), slice(1, -1), every).transpose()
        net.part([1, 0, *range(height - 1)], [1, 0, *range(width - 2)], every).shuffle(net.shape.channels)
        net.part(every, every, [1, 0, *range(net.shape.channels)]).part(evens, every, evens).transpose()
        networks.append(net.part(slice(2), every, every).average_pool().dense(10).softmax().graph())
    for height, width, channels in ((6, 7, 24), (10, 9, 12), (5, 5, 40)):
        net = NetworkBuilder(f"reflected {channels}", Shape(height, width, channels)).conv(channels)
        net.part([1, *range(height)], [1, *range(width)], every).part(every, [0, 0, *range(width)], every)
        net.part([2, *range(height)], every, every).part(evens, evens, every)
        networks.append(net.average_pool().dense(10).softmax().graph())
    return tuple(networks)


def _normalized() -> tuple[Graph, ...]:
    """Return networks of values that are normalized pixel by pixel and over maps, in few and many groups."""
    networks = []
    for height, width, channels in ((12, 10, 16), (5, 4, 48), (7, 9, 24), (16, 14, 8)):
        net = NetworkBuilder(f"normalized {channels}", Shape(height, width, channels)).normalize()
        net.conv(channels).normalize(4, over_map=True).normalize(2).normalize(channels, over_map=True).conv(
            channels + 4
        )
        networks.append(net.normalize().normalize(over_map=True).average_pool().normalize().dense(10).graph())
    return tuple(networks)


def _attended() -> tuple[Graph, ...]:
    """Return networks of attention, with few and many tokens, heads and features, even and odd ones, and a mask."""
    networks = []
    shapes = (
        *((16, 2, 16), (12, 4, 8), (49, 1, 20), (9, 3, 24), (25, 2, 32)),
        *((30, 3, 5), (17, 4, 12), (64, 1, 8), (5, 2, 64)),
    )
    for tokens, heads, features in shapes:
        net = NetworkBuilder(f"attended {tokens}x{heads}x{features}", Shape(tokens, heads, features)).normalize()
        source = net.value
        query, key, value = (net.after(source).conv(features, activation=Activation()).value for _ in range(3))
        scores = net.after(query).matmul(key, transposed=True).softmax(is_causal=tokens % 2 == 0).value
        product = net.after(scores).matmul(value).value
        few = net.after(product).average_pool().value
        net.after(few).matmul(product, transposed=True).softmax().matmul(value)
        networks.append(net.average_pool().dense(10).graph())
    return tuple(networks)


def _recurrent() -> tuple[Graph, ...]:
    """Return networks of recurrent layers of all cells, over few and many steps of few and many values."""
    networks = []
    shapes = ((49, 10, 24), (12, 40, 16), (24, 6, 33), (50, 6, 9), (10, 21, 48), (17, 15, 20))
    for steps, channels, units in shapes:
        net = NetworkBuilder(f"recurrent {steps}x{channels}x{units}", Shape(1, steps, channels)).normalize()
        net.recurrent(units).recurrent(channels, Cell.LSTM).recurrent(units, Cell.GRU, resets_product=False)
        net.recurrent(units, Cell.RNN).recurrent(channels, Cell.RNN, is_relu=True).recurrent(units + 1, Cell.LSTM)
        networks.append(net.recurrent(channels).dense(10).graph())
    return tuple(networks)


def _classified() -> tuple[Graph, ...]:
    """Return networks that end in the number of the largest channel, of maps and of vectors."""
    networks = []
    for height, width, channels in ((12, 10, 16), (8, 6, 3), (5, 5, 40), (1, 1, 100), (1, 1, 10), (20, 16, 2)):
        net = NetworkBuilder(f"classified {channels}", Shape(height, width, channels)).conv(channels + 1)
        networks.append(net.arg_max().graph())
    return tuple(networks)


def random_network(seed: int) -> Graph:
    """Return a network of random layers on maps with decreasing size and increasing depth."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(16, 64))
    channels = int(rng.choice((1, 1, 2, 3, 3, 4)))
    net = NetworkBuilder(f"random {seed}", Shape(size, max(8, size - int(rng.integers(12))), channels))
    kernel = FIRST_KERNELS[rng.integers(len(FIRST_KERNELS))]
    width = 4 * int(rng.integers(2, 5))
    net.conv(width, kernel, int(rng.integers(1, 3)) if size < LARGEST_FIRST else 2, activation=_activation(rng))
    for _ in range(5):
        width = min(int(width * rng.choice(WIDTHS)), MOST_CHANNELS) + int(rng.choice(ODD_WIDTHS))
        _random_block(net, rng, width)
    if rng.integers(2):
        net.average_pool()
    return net.dense(int(rng.integers(2, 40))).softmax().graph()


def _random_block(net: NetworkBuilder, rng: np.random.Generator, width: int) -> None:
    """Add a separable convolution, a convolution with a pool, or a residual block."""
    pixels = net.shape.height * net.shape.width
    kernel = KERNELS[rng.integers(len(KERNELS))]
    stride = 2 if pixels * width > LARGEST_MAP else int(rng.choice((1, 1, 1, 2)))
    block = rng.choice(tuple("spppr"))
    macc = pixels * width * max(net.shape.channels * kernel[0] * kernel[1], width * 9)
    if block == "s" or macc > MOST_MACC:
        net.depthwise((3, 3), stride, _activation(rng)).conv(width, activation=_activation(rng))
    elif block == "p" and min(net.shape[:2]) >= SMALLEST_POOLED:
        net.conv(width, kernel, activation=_activation(rng), padded=bool(rng.integers(2)))
        net.max_pool(2, 2) if rng.integers(3) else net.average_pool(2)
    else:
        short = net.conv(width, (1, 1), stride, activation=Activation()).value
        net.conv(width, (3, 3), activation=_activation(rng)).conv(width, (3, 3), activation=Activation()).add(short)


def _activation(rng: np.random.Generator) -> Activation:
    return ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
