"""How far before its input an output must begin so that a kernel can write it while it reads: from the window's walk.

Outputs are written from the first to the last. What is written must lie before all that is still to be read.
"""

from tinysplit.layers.base import Layer
from tinysplit.layers.window import Window


def lead_of_pixels(layer: Layer, window: Window) -> int:
    """Return the lead in elements of a kernel that reads a window, then writes its pixel with all channels."""
    (_, _, inputs), (height, width, outputs) = layer.in_shape, layer.out_shape
    if window.elements > 1 or window.is_clipped:
        return _lead_of_rows(layer, window, 0)
    pixels = height * width
    return max(outputs, pixels * outputs - (pixels - 1) * inputs)


def lead_of_rows(layer: Layer, window: Window) -> int:
    """Return the lead in elements of a kernel that reads the rows of a row of windows, then writes their pixels."""
    return _lead_of_rows(layer, window, 1)


def _lead_of_rows(layer: Layer, window: Window, ahead: int) -> int:
    """Return the lead where the windows `ahead` rows below are the first that are still to be read."""
    row_in, row_out = (shape.width * shape.channels for shape in (layer.in_shape, layer.out_shape))
    first_needed = (max(0, (row + ahead) * window.stride[0] - window.pads.top) for row in range(layer.out_shape.height))
    return max(0, *((row + 1) * row_out - needed * row_in for row, needed in enumerate(first_needed)))
