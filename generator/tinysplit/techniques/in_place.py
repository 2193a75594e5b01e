"""How far before its input an output must begin so that a kernel can write it while it reads: from the window's walk.

Outputs are written from the first to the last, and must end before the first value that is still to be read.
"""

from collections.abc import Iterable

from tinysplit.layers.base import Layer
from tinysplit.layers.window import Window


def lead_of_pixels(layer: Layer, window: Window) -> int:
    """Return the lead in elements of a kernel that has read a window before it writes its pixel with all channels."""
    (_, width, inputs), (height, out_width, outputs) = layer.in_shape, layer.out_shape
    if window.elements == 1 and not window.is_clipped:
        pixels = height * out_width
        return _lead(((pixel + 1) * outputs, (pixel + 1) * inputs) for pixel in (0, pixels - 2))
    # The next windows of a row of outputs, and those of the next one, see nothing above the row's own top.
    tops = (max(0, row * window.stride[0] - window.pads.top) for row in range(height))
    return _lead(((row + 1) * out_width * outputs, top * width * inputs) for row, top in enumerate(tops))


def lead_of_rows(layer: Layer, window: Window) -> int:
    """Return the lead in elements of a kernel that has read all rows of a row of windows before it writes its pixels.

    It reads no row twice.
    """
    row_in, row_out = (shape.width * shape.channels for shape in (layer.in_shape, layer.out_shape))
    bottoms = (row * window.stride[0] - window.pads.top + window.kernel[0] for row in range(layer.out_shape.height - 1))
    return _lead(((row + 1) * row_out, max(0, bottom) * row_in) for row, bottom in enumerate(bottoms))


def _lead(written_and_needed: Iterable[tuple[int, int]]) -> int:
    """Return the lead for pairs of how much is written and where the first value lies that is needed afterwards."""
    return max(0, *(written - needed for written, needed in written_and_needed), 0)
