"""Layers that copy values (Concat, Pad, Upsample, parts by Permute): which input element each output element is."""

import numpy as np

from tinysplit.kernels.in_place import Lead, lead_of_blocks
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.pad import Pad
from tinysplit.network.layers.permute import Permute
from tinysplit.network.layers.upsample import Upsample

NONE = 1 << 40  # larger than any index


def sources(layer: Layer, k: int) -> IntArray | None:
    """Return the index in input k of each output element, NONE for other inputs; None if values are computed."""
    (height, width, channels), found = layer.in_shapes[k], np.full(tuple(layer.out_shape), NONE)
    elements = np.arange(height * width * channels).reshape(height, width, channels)
    match layer:
        case Concat():
            first = sum(shape.channels for shape in layer.in_shapes[:k])
            found[:, :, first : first + channels] = elements
        case Pad():
            inner = found[layer.pads.top :, layer.pads.left :, layer.channels[0] :]
            inner[:height, :width, :channels] = elements
        case Upsample():
            found = elements.repeat(layer.factors[0], axis=0).repeat(layer.factors[1], axis=1)
        case Permute() if layer.is_ascending:  # a part
            return layer.order
        case _:
            return None
    return found.reshape(-1)


def copies_lead(layer: Layer, k: int, widths: Widths) -> Lead | None:
    """Return the lead of a kernel that copies value by value; None if values are computed."""
    copied = sources(layer, k)
    if copied is None:
        return None
    return Lead(lead_of_blocks(copied, np.arange(1, copied.size + 1), widths, reads_first=True))
