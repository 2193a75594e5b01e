"""Networks of tiny layers, whose loops the compiler leaves out or unrolls: for the bytes of code alone.

They take too few cycles for a fit of times.
"""

import numpy as np

from tinysplit.calibration.networks import ACTIVATIONS
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder

SMALL_NETWORKS = range(200, 224)  # seeds of the networks of the fit
LAYERS = 10  # drawn for a network
LARGEST_SIDE, MOST_CHANNELS, LARGEST_WINDOW = 8, 6, 3
LARGEST_GROWING = 40  # pixels of a map that an upsampling layer may read
CONVOLUTIONS = ("conv", "conv", "pointwise", "pointwise", "depthwise", "depthwise", "grouped", "conv_transpose")
JOINS = ("add", "mul", "concat")
OTHERS = ("tanh", "prelu", "transpose", "pad", "upsample", "max_pool", "average_pool")
KINDS = (*CONVOLUTIONS, *JOINS, *JOINS, *OTHERS)


def small_network(seed: int) -> Graph:
    """Return a network of random layers with up to `LARGEST_SIDE` rows and columns and few channels."""
    rng = np.random.default_rng(seed)
    height, width = _below(rng, LARGEST_SIDE), _below(rng, LARGEST_SIDE)
    net = NetworkBuilder(f"small {seed}", Shape(height, width, _below(rng, MOST_CHANNELS)))
    net.conv(_below(rng, MOST_CHANNELS))
    for kind in rng.choice(KINDS, LAYERS):
        if kind in CONVOLUTIONS:
            _convolution(net, rng, kind)
        elif kind in JOINS:
            _join(net, rng, kind)
        else:
            _other(net, rng, kind)
    net.dense(_below(rng, MOST_CHANNELS)).dense(_below(rng, MOST_CHANNELS))
    return (net.softmax() if rng.integers(2) else net).graph()


def _below(rng: np.random.Generator, largest: int) -> int:
    return int(rng.integers(1, largest + 1))


def _convolution(net: NetworkBuilder, rng: np.random.Generator, kind: str) -> None:
    activation = ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
    channels = _below(rng, MOST_CHANNELS)
    kernel = (_below(rng, LARGEST_WINDOW), _below(rng, LARGEST_WINDOW))
    if kind == "depthwise":
        net.depthwise(kernel, activation=activation)
    elif kind == "pointwise":
        net.conv(channels, stride=1 + (min(net.shape[:2]) > LARGEST_WINDOW), activation=activation)
    elif kind == "conv_transpose" and net.shape.height * net.shape.width < LARGEST_GROWING:
        net.conv_transpose(channels, (2, 2), 1 + int(rng.integers(2)))
    elif kind == "grouped" and net.shape.channels % 2 == 0:
        net.conv(2 * channels, kernel, groups=2, activation=activation)
    else:
        net.conv(channels, kernel, activation=activation, padded=not _fits(kernel, net.shape) or bool(rng.integers(4)))


def _fits(kernel: tuple[int, int], shape: Shape) -> bool:
    return kernel[0] <= shape.height and kernel[1] <= shape.width


def _join(net: NetworkBuilder, rng: np.random.Generator, kind: str) -> None:
    """Join the current value with what a depthwise layer makes of it."""
    first = net.value
    second = net.depthwise((1, 1)).value
    net.after(first)
    if kind == "add":
        net.add(second, activation=ACTIVATIONS[rng.integers(len(ACTIVATIONS))])
    elif kind == "mul":
        net.mul(second)
    else:
        net.concat(second)


def _other(net: NetworkBuilder, rng: np.random.Generator, kind: str) -> None:
    """Add a layer of `kind` where the map is large or small enough for it, else a PRelu."""
    shortest = min(net.shape[:2])
    pixels = net.shape.height * net.shape.width
    if kind == "max_pool" and shortest > 1:
        net.max_pool(2, 1 + int(rng.integers(2)))
    elif kind == "average_pool" and shortest > 1:
        net.average_pool(2 * int(rng.integers(2)))
    elif kind == "pad" and pixels < LARGEST_GROWING:
        net.pad(1)
    elif kind == "upsample" and pixels < LARGEST_GROWING:
        net.upsample(2)
    elif kind in ("tanh", "transpose"):
        net.tanh() if kind == "tanh" else net.transpose()
    else:
        net.prelu()
