"""How far before its input an output must begin so that a kernel can write it while it reads: from the window's walk.

Outputs are written from the first to the last, and must end before the first value that is still to be read.
"""

import numpy as np

from tinysplit.layers.base import Layer
from tinysplit.layers.window import Window


def lead_of_pixels(layer: Layer, window: Window) -> int:
    """Return the lead in elements of a kernel that has read a window before it writes its pixel with all channels."""
    (_, in_width, inputs), (height, width, outputs) = layer.in_shape, layer.out_shape
    tops = np.maximum(0, np.arange(height) * window.stride[0] - window.pads.top)
    lefts = np.maximum(0, np.arange(width) * window.stride[1] - window.pads.left)
    firsts = np.add.outer(tops * in_width, lefts).ravel() * inputs
    needed = np.minimum.accumulate(firsts[::-1])[::-1]  # by this window and all later ones
    written = np.arange(1, len(firsts)) * outputs
    return int((written - needed[1:]).max(initial=0))


def lead_of_rows(layer: Layer, window: Window) -> int:
    """Return the lead in elements of a kernel that has read all rows of a row of windows before it writes its pixels.

    It reads no row twice.
    """
    row_in, row_out = (shape.width * shape.channels for shape in (layer.in_shape, layer.out_shape))
    rows = np.arange(1, layer.out_shape.height)  # that are written
    needed = np.maximum(0, (rows - 1) * window.stride[0] - window.pads.top + window.kernel[0])
    return int((rows * row_out - needed * row_in).max(initial=0))
