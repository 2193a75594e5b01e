"""The window of a convolution or pool from ONNX attributes."""

from tinysplit.network.layers import Pads, Shape, Window
from tinysplit.onnx_import.node import Node, Refusal
from tinysplit.onnx_import.size_limits import check_value_size

MAP_RANKS = (3, 4)  # batch, channels, [height,] width
LARGE_WINDOW = Refusal("has a window of {}x{} that is larger than its padded input {}")
GAPS = Refusal(
    "has auto_pad and strides of {}x{} above its kernel of {}x{}, which is read in several ways: export it with pads"
)
WINDOW_REFUSALS = (LARGE_WINDOW, GAPS)
WINDOW_ATTRIBUTES = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")


def window_of(node: Node, in_shape: Shape, padded: Pads, kernel: tuple[int, int]) -> Window:
    """Return the window over `in_shape`; `padded` comes from a Pad in front of the node, its own pads are added.

    Raises InputError where ONNX Runtime crops for SAME_*.
    """
    window = Window(kernel, node.pair("strides", 1), node.pair("dilations", 1), padded)
    auto_pad = node.attributes.get("auto_pad", b"NOTSET").decode()
    if auto_pad == "NOTSET":
        node_pads = _explicit_pads(node)
    elif auto_pad == "VALID":
        node_pads = Pads()
    else:
        node_pads = _same_pads(node, window, in_shape, at_end=auto_pad == "SAME_UPPER")
    pads = Pads(*(a + b for a, b in zip(padded, node_pads, strict=True)))
    return Window(kernel, window.stride, window.dilation, pads)


def fitting(node: Node, window: Window, in_shape: Shape) -> Window:
    """Return `window`. Raises InputError if it is larger than its padded input, or that larger than any value."""
    pads, kernel = window.pads, window.kernel
    height, width, channels = in_shape
    check_value_size((height + pads.top + pads.bottom, width + pads.left + pads.right, channels))
    if min(window.out_shape(in_shape, 1)) < 1:
        raise node.error(LARGE_WINDOW, *kernel, in_shape)
    return window


def reach(window: Window) -> tuple[int, int]:
    """Return the rows and columns from a window's first to its last element."""
    height, width = (d * (k - 1) + 1 for k, d in zip(window.kernel, window.dilation, strict=True))
    return height, width


def _same_pads(node: Node, window: Window, in_shape: Shape, *, at_end: bool) -> Pads:
    """Return the pads that give ceil(size / stride) outputs, the odd one at the end or not (ONNX operators, Conv).

    Where strides leave out pixels between windows, ONNX Runtime crops in front as much as behind, and TensorFlow,
    from which this attribute comes, does not.
    """
    padded = window.pads
    sizes = in_shape.height + padded.top + padded.bottom, in_shape.width + padded.left + padded.right
    needed = [
        (-(-size // stride) - 1) * stride + extent - size
        for size, stride, extent in zip(sizes, window.stride, reach(window), strict=True)
    ]
    if min(needed) < (-1 if at_end else -2):
        raise node.error(GAPS, *window.stride, *window.kernel)
    total = [max(pads, 0) for pads in needed]
    small = [t // 2 for t in total]
    large = [t - t // 2 for t in total]
    begin, end = (small, large) if at_end else (large, small)
    return Pads(*begin, *end)


def _explicit_pads(node: Node) -> Pads:
    values = node.attributes.get("pads", [0] * 4)
    if len(values) == 2:  # noqa: PLR2004 - a 1-D operator: begin, end
        return Pads(left=values[0], right=values[1])
    return Pads(*values)
