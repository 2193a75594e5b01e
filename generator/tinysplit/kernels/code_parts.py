"""The parts of the code that a compiler makes of a layer; the cost table has the bytes of each part."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from tinysplit.kernels.cost_table import Work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.window import Window, layer_window

UNROLLED_ELEMENTS, UNROLLED_COLUMNS, PEELED_COLUMNS = 25, 5, 7  # of windows, up to which compilers unroll loops
UNROLLED_PRODUCTS = 4  # in an iteration of their loop


@dataclass(frozen=True)
class SharedFunction:
    """A function that layers share, by its kind in the cost table, and how often it has each part of that kind.

    It is in the firmware library, or in the C file of each of these layers, of which the linker takes the first.
    """

    kind: str
    parts: Work = field(default_factory=dict)
    is_in_layers: bool = False


@dataclass(frozen=True)
class Code:
    """How often the code of a layer has each part of its kernel, and the functions that it shares, by name.

    Of its own bytes, `constant_bytes` are no instructions: they stay in flash where the code lies in RAM.
    """

    own: Work
    shared: Mapping[str, SharedFunction] = field(default_factory=dict)
    constant_bytes: int = 0


def usual_code(layer: Layer, widths: Widths) -> Work:
    """Return how often the code of a layer has what all kernels in C have.

    Parts: loops over `rows` and `columns`; `inputs` after the first one; `odd_bytes` that fill no word, of the map and
    (`part_words`) of a pixel; clamps to a `lower` and an `upper` limit; `signed` inputs; and those of its window and
    its products.
    """
    height, width, channels = layer.out_shape
    pixel_bytes, map_bytes = (size * widths.x // 8 for size in (layer.in_shape.channels, layer.in_shape.size))
    window = layer_window(layer)
    copies = _copies(layer, window) if window else 1
    parts: dict[str, float] = {
        "rows": height > 1,
        "columns": width > 1,
        "channels": channels > 1,
        "inputs": len(layer.in_shapes) - 1,
        "odd_bytes": map_bytes % 4,
        "part_words": pixel_bytes % 4 > 0,
        "lower": layer.activation.low == 0,
        "upper": layer.activation.high < inf,
        "signed": layer.x_clamp.low < 0,
    }
    if window:
        parts |= _window_code(layer, window, copies)
    if isinstance(layer, Conv | Dense):
        parts |= _product_code(layer, window, copies)
    return {part: float(count) for part, count in parts.items()}


def _has_whole(layer: Layer, window: Window) -> bool:
    rows, columns = window.covered(layer.in_shape)
    return bool((rows == window.kernel[0]).any() and (columns == window.kernel[1]).any())


def _copies(layer: Layer, window: Window) -> int:
    """Return the copies of the loops over a window: of those inside the input, and of all others."""
    return _has_whole(layer, window) + window.is_clipped


def _window_code(layer: Layer, window: Window, copies: int) -> Work:
    """Return the parts of loops over a window: `unrolled` elements and `peeled` columns of one inside the input."""
    height, width = window.kernel
    is_small, has_whole = window.elements <= UNROLLED_ELEMENTS, _has_whole(layer, window)
    return {
        "window": copies,
        "clipped": window.is_clipped,
        "strided": window.stride != (1, 1),
        "tall": height > 1,
        "unrolled": window.elements * (is_small and width <= UNROLLED_COLUMNS and has_whole),
        "peeled": width * (not is_small and width <= PEELED_COLUMNS),
        "large": copies * (window.elements > 9),  # noqa: PLR2004 - 3x3
        "wide": copies * (width > UNROLLED_COLUMNS),
    }


def _product_code(layer: Conv | Dense, window: Window | None, copies: int) -> Work:
    """Return the parts of loops over products, which compute two output channels, and the last of an odd number alone.

    `pair`, `single`: the code of two channels and of such a one. Their products are `straight`, in a `single_pass` of
    their loop, or in a `loop`; `rests` are those beyond the last fours.
    """
    groups = layer.groups if isinstance(layer, Conv) else 1
    outputs = layer.out_shape.channels // groups
    inputs = (layer.in_shape.channels if window else layer.in_shape.size) // groups
    products = inputs * (window.kernel[1] if window and window.dilation[1] == 1 else 1)
    pairs, single = outputs > 1, outputs % 2
    loops = copies * (pairs + single)
    return {
        "pair": copies * pairs,
        "single": copies * single,
        "straight": loops * products * (products <= UNROLLED_PRODUCTS),
        "loop": loops * (products >= 2 * UNROLLED_PRODUCTS),
        "single_pass": loops * (UNROLLED_PRODUCTS < products < 2 * UNROLLED_PRODUCTS),
        "rests": loops * (products % UNROLLED_PRODUCTS) * (products > UNROLLED_PRODUCTS),
        "two_rows": loops * bool(window and window.kernel[0] == 2),  # noqa: PLR2004 - which are unrolled
        "grouped": copies * (groups > 1),
        "several": outputs > 3,  # noqa: PLR2004 - more than one pair
    }
