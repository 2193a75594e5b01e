"""Shapes, work and code of the Cortex-M0+ kernels that compute all channels of a window, four at a time."""

from functools import cache

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.armv6m import common
from tinysplit.kernels.code_parts import usual_code
from tinysplit.kernels.cost_table import Work, rounded_work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.window import Window, layer_window

CHANNELS = 4  # output channels computed together
LONGEST_UNROLL = 32  # LDRB reaches 31 bytes beyond its base register
MOST_STRAIGHT = 64  # inputs whose code is not a loop
PAIR_CYCLES, LOOP_CYCLES = 17, 12  # of two inputs of four channels; of an iteration and the end of its last group


def straight_parts(layer: Layer) -> int:
    """Return how often kernels with straight code for few inputs have the code of an iteration."""
    inputs, unroll = padded_inputs(layer)
    return inputs // unroll if inputs <= MOST_STRAIGHT else 1


def pixels_work(layer: Layer, widths: Widths, passes: int, *, copies_map: bool = False, straight: int = 1) -> Work:
    """Return the work of a kernel that goes over all output pixels `passes` times, each time for other channels.

    The input of a pointwise layer is copied in each pass, or once if it `copies_map`.

    Parts: `pairs` of inputs of four channels (a `block`); `loop`: iterations over them, whose code is `straight` times
    that of the padded inputs; `pixel`: output pixels, once a pass; `buffered` outputs; and those of copying the windows
    (`common.windows_work`).
    """
    (inputs, unroll), pixels = padded_inputs(layer), layer.out_shape.height * layer.out_shape.width
    blocks = pixels * layer.out_shape.channels // CHANNELS
    copies = copies_windows(layer, widths)
    work = {
        "pairs": blocks * inputs // 2,
        "loop": blocks * inputs // (unroll * straight),
        **rounded_work(layer, "block", blocks),
        "pixel": pixels * passes,
        "buffered": 0 if copies else layer.out_shape.size,
    }
    if copies and copies_map:
        return work | common.copy_work(layer, widths, layer.in_shape.size, signed=common.may_be_signed(layer, widths))
    return work | (common.windows_work(layer, widths, passes) if copies else {})


def pixels_code(layer: Layer, widths: Widths, unroll: int, groups: int, channels: int, straight: int = 1) -> Work:
    """Return the parts of the code of a kernel in assembler that computes `channels` channels of a pixel at a time.

    The code of `unroll` inputs and their `groups` is there `straight` times.

    Parts beside those of C: `pairs` of inputs and `groups` of an iteration; `loop` where it is repeated; copied windows
    (`copied`), with padding, of values in place of words, and of signed ones; `buffered` words of outputs, `passes`.
    """
    copies, signed = copies_windows(layer, widths), common.may_be_signed(layer, widths)
    window, row_bytes = layer_window(layer), channels * widths.y // 8
    is_partial = layer.in_shape.channels * widths.x // 8 % WORD_BYTES > 0
    is_buffered = isinstance(layer, Conv) and not copies and channels == layer.out_shape.channels
    own = {
        "pairs": straight * unroll // 2,
        "groups": straight * groups,
        "looped": padded_inputs(layer)[0] > straight * unroll,
        "copied": copies,
        "copied_padding": copies and window is not None and window.is_clipped,
        "copied_columns": copies and window is not None and window.kernel[1] > 1,
        "copied_values": copies and is_partial,
        "copied_signed": copies and signed,
        "buffered": is_buffered * (row_bytes // 16 + row_bytes % 16 // 4),
        "passes": channels < layer.out_shape.channels,
    }
    return {**usual_code(layer, widths), **{part: float(count) for part, count in own.items()}}


def copies_windows(layer: Layer, widths: Widths) -> bool:
    """Return whether windows are expected to be copied to the scratch buffer, not read from the input."""
    return not is_pointwise(layer) or common.may_be_signed(layer, widths) or padded_inputs(layer)[0] != inputs_of(layer)


def is_pointwise(layer: Layer) -> bool:
    """Return whether the windows of a layer are contiguous in its input, so that none has to be copied."""
    if not isinstance(layer, Conv):
        return True
    return layer.window == Window((1, 1))


def inputs_of(layer: Layer) -> int:
    """Return the number of inputs that an output sums up."""
    return int(layer.parameters["weights"][0].size)


def windows_bytes(layer: Layer, widths: Widths) -> int:
    """Return the bytes that are read to copy the windows of all pixels."""
    height, width, _ = layer.out_shape
    return 0 if is_pointwise(layer) else height * width * inputs_of(layer) * widths.x // 8


def padded_inputs(layer: Layer) -> tuple[int, int]:
    """Return the inputs of an output, padded for the fastest inner loop, and how many of them an iteration takes."""
    return _padded(inputs_of(layer))


@cache
def _padded(used: int) -> tuple[int, int]:
    choices = [
        (inputs, unroll)
        for inputs in range(used + used % 2, used + LONGEST_UNROLL, 2)
        for unroll in range(2, LONGEST_UNROLL + 1, 2)
        if inputs % unroll == 0
    ]
    return min(choices, key=lambda choice: PAIR_CYCLES * choice[0] // 2 + LOOP_CYCLES * (choice[0] // choice[1]))
