"""Memory traffic of kernels: bytes of weights read from flash and of values read from RAM, by register blocking."""

from typing import NamedTuple

from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.recurrent import Recurrent
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.layers.window import layer_window

BYTE_BITS = 8
VALUE_BYTES = 2  # of what gates sum up


class Loads(NamedTuple):
    """Bytes that a kernel reads to compute a layer once; a byte counts each time it is read."""

    flash_bytes: int
    ram_bytes: int


def block_loads(
    layer: Layer, weights_bytes: int, value_bytes: int, pixels: int = 1, channels: int = 1, copied_bytes: int = 0
) -> Loads:
    """Return the loads of a kernel with a register block of `pixels` x `channels` outputs.

    A block reads the weights of its channels once for all its pixels, and the values of its pixels (`value_bytes` each)
    once for all its channels. `copied_bytes` are read in addition to fill a buffer.
    """
    height, width, out_channels = layer.out_shape
    passes = -(-height * width // pixels)
    shared = -(-out_channels // channels) if isinstance(layer, Conv | Dense) else out_channels
    return Loads(passes * weights_bytes, height * width * shared * window_values(layer) * value_bytes + copied_bytes)


def table_loads(layer: Lookup | Softmax, widths: Widths) -> Loads:
    """Return the loads of a kernel that looks up table entries for each value."""
    is_long = widths.x > BYTE_BITS  # two entries: neighbours, or of two tables
    passes, entry_bytes, reads = (2, 2, 3) if isinstance(layer, Softmax) else (1, widths.y // BYTE_BITS, 1)
    values = layer.in_shape.size
    return Loads(values * passes * entry_bytes * (1 + is_long), values * reads * widths.x // BYTE_BITS)


def step_loads(layer: Recurrent, weights_bytes: int) -> Loads:
    """Return the loads of a recurrent layer: in each step all weights, and for every unit all values."""
    return Loads(layer.steps * weights_bytes, layer.steps * layer.units * layer.inputs_of_gate * VALUE_BYTES)


def window_values(layer: Layer) -> int:
    """Return the number of input values that an output is computed from."""
    if isinstance(layer, MatMul):
        return len(layer.inputs) * layer.terms
    weights, window = layer.parameters.get("weights"), layer_window(layer)
    if weights is not None:
        return int(layer.by_channel(weights).shape[1])
    return window.elements if window else len(layer.inputs)


def visited_lines(shape: Shape, bits: int, line_bytes: int, passes: float) -> float:
    """Return the cache lines of a tensor, each as often as it comes over the bus in `passes` through it.

    In a pass the data cache holds what the kernel reads again, some rows. Several passes have a share of the channels
    each: they visit at most a line of every pixel, which the cache has forgotten by the next one.
    """
    lines = shape.size * bits / BYTE_BITS / line_bytes
    return passes * min(lines, shape.height * shape.width) if passes > 1 else lines
