"""Depthwise convolutions by SMLAD: two channel planes at a time, two neighbours of one in a word.

The non-interleaved scheme of Singh 2024: channels are computed one after the other, from a buffer in RAM. CMSIS-NN
(arm_depthwise_conv_wrapper_s8) keeps channels interleaved; TinyEngine's in-place depthwise kernels also buffer a plane.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.kernels.base import Kernel, KernelContext
from tinysplit.kernels.code_parts import Code, SharedFunction, usual_code
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.dsp.high_products import Epilogue, clamped_work, exactly_clamped, factor_bytes
from tinysplit.kernels.in_place import Lead, lead_of_blocks
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.kernels.row_order import RowOrder
from tinysplit.kernels.scheme import Scheme
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.window import Pads, Window
from tinysplit.network.quantized_graph import QuantizedLayer

SHARED_CODE = "dsp_planes_"
NARROW, WIDEST = 3, 16  # weights of a kernel row; all rows of three are unrolled, others are a loop
MOST_NARROW_ROWS, MOST_WEIGHTS = 5, 81
UNROLLED_FOURS = 4  # times four outputs in a row: more are a loop on Cortex-M7, as in its template
PLANES = 2  # channels that are read together
LARGEST_SCRATCH_BYTES = 8192
LARGEST_OFFSET_BYTES = 4092 - 16  # of the first word of a kernel row: LDR reaches 4095
TILE_BYTES = 1600  # of the rows in the scratch buffer, unless one row of outputs needs more


@dataclass(frozen=True)
class PlanesContext(KernelContext):
    """Template context. `plane` is the layer as its planes lie in the scratch buffer: `_plane()`."""

    epilogue: Epilogue
    plane: DepthwiseConv
    is_turned: bool
    shared: str  # prefix of the functions that layers of the same shape share
    tile_rows: int  # rows of outputs of a tile
    plane_rows: int  # rows of inputs under them
    pitch: int  # elements of a row of a plane
    is_wide: bool  # whether kernel rows are a loop, of any width


class Planes(Kernel):
    """Two planes are gathered into the scratch buffer, tile by tile of rows, with their padding; then computed by rows.

    All inputs of a tile are gathered before its outputs are written, so that the output may replace the input. Planes
    that fit whole are turned, so that columns lie in rows, where that leaves fewer outputs beside the fours, and where
    windows are columns, as of maps that are a signal in time.
    """

    name: ClassVar[str] = "planes"
    suits_fused_rows: ClassVar[bool] = False  # rows that tiles share would be gathered twice

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in DSP_CORES or not isinstance(layer, DepthwiseConv) or layer.in_shape.channels % PLANES:
            return False
        layer = _plane(layer)
        height, width = layer.window.kernel
        return (
            widths.w <= widths.x
            and _tile_bytes(layer, 1) <= LARGEST_SCRATCH_BYTES
            and (_is_wide(layer) or 2 * (height - 1) * _pitch(layer) <= LARGEST_OFFSET_BYTES)
            and 1 < width <= WIDEST
            and height * width <= MOST_WEIGHTS
            and layer.window.dilation == (1, 1)
            and layer.window.stride[0] <= height
            and layer.window.stride[1] <= 2  # noqa: PLR2004 - larger strides skip words of the plane
        )

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # a tile of two planes
        plane = _plane(layer)
        return _tile_bytes(plane, _tile_rows(plane))

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # an output pixel must coincide with an input pixel, so that it touches no other channel; a tile is gathered
        # before its outputs are written, except the rows that it shares with the tile above
        if widths.x != widths.y:
            return None
        layer = _plane(layer)
        window, (height, width, channels) = layer.window, layer.out_shape
        starts = np.arange(0, height, _tile_rows(layer))
        shared = np.where(starts > 0, window.kernel[0] - window.stride[0], 0)
        tops = np.maximum(starts * window.stride[0] - window.pads.top + shared, 0)
        ends = np.minimum(starts + _tile_rows(layer), height) * width * channels
        least_bytes = lead_of_blocks(tops * layer.in_shape.width * channels, ends, widths, reads_first=True)
        return Lead(least_bytes, channels * widths.x // 8)

    @override
    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        return RowOrder.none("planes computes all rows of two channels after the other channels")

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Count padding like other values.

        Parts: `four_rows`, `one_rows`: kernel rows of four outputs or one, `four_words`, `one_words` of weights in wide
        ones; `four`, `one`: outputs stored together;
        `row` of an output channel, `looped_row` if a loop stores it on Cortex-M7; `gathered`: pairs of values, in
        `gathered_rows` of two planes, the `last` ones in a loop that is not unrolled; `band`: tiles of two planes;
        `shared` elements are in two tiles, `zeroed` ones are padding.
        """
        layer = _plane(layer)
        window, (height, width, channels) = layer.window, layer.out_shape
        tiles, rows, fours = -(-height // _tile_rows(layer)), height * channels, width // 4
        stride = "strided_" if window.stride[1] > 1 else ""
        last = "one" if width % 4 == 1 else "looped_one"  # the compiler makes no loop of a single one
        planes, overlap = channels // PLANES, max(0, window.kernel[0] - window.stride[0])
        outside = tiles * _rows(layer, _tile_rows(layer)) - (tiles - 1) * overlap - layer.in_shape.height
        pairs = (layer.in_shape.width - window.pads.left % 2) // 2
        four_rows, one_rows = rows * fours * window.kernel[0], rows * (width % 4) * window.kernel[0]
        if _is_wide(layer):
            words, kernel_rows = (window.kernel[1] + 1) // 2, {"wide_four_rows": four_rows, "wide_one_rows": one_rows}
            kernel_rows |= {f"{stride}four_words": four_rows * words, "one_words": one_rows * words}
        else:
            kernel_rows = {f"{stride}four_rows": four_rows, f"{last}_rows": one_rows}
        return {
            **kernel_rows,
            "row": rows,
            "looped_row": rows * (fours > UNROLLED_FOURS),
            "gathered": layer.in_shape.height * planes * pairs,
            "last": layer.in_shape.height * planes * (pairs % 4),
            "gathered_rows": layer.in_shape.height * planes,
            "band": tiles * planes,
            "shared": (tiles - 1) * planes * PLANES * overlap * _pitch(layer),
            "zeroed": (tiles > 1) * planes * PLANES * max(0, outside) * _pitch(layer),
        } | clamped_work(layer, {"four": rows * fours, last: rows * (width % 4)})

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # formats decide how outputs are requantized and clamped
        return exactly_clamped(work, quantized, _epilogue(quantized))

    @override
    def scheme(self, layer: Layer) -> Scheme:
        return Scheme.NON_INTERLEAVED

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # four outputs take five words of a kernel row of three; weights are read once per tile
        layer = _plane(layer)
        tiles = -(-layer.out_shape.height // _tile_rows(layer))
        gathered_bytes = layer.in_shape.size * widths.x // 8
        height, width = _window(layer).kernel
        ram_bytes = layer.out_shape.size * height * (2 * ((width + 1) // 2) + 1) + gathered_bytes
        return Loads(tiles * self.weights_bytes(layer, widths), ram_bytes)

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        # bytes of weights, words of biases and factors
        return layer.parameters["weights"].size * widths.w // 8 + layer.out_shape.channels * (4 + factor_bytes(layer))

    @override
    def packing(self, layer: Layer) -> bool:
        return _is_turned(layer)

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # the weights as channels x rows x columns of the planes
        axes = (2, 1, 0) if _is_turned(quantized.layer) else (2, 0, 1)
        weights = np.ascontiguousarray(quantized.constants["weights"].transpose(axes))
        epilogue = Epilogue.of(quantized)
        constants = {"weights": weights, "bias": (quantized.constants["bias"] + epilogue.extras).astype(np.int32)}
        if len(epilogue.factors) > 1:
            constants["factors"] = epilogue.factors.astype(np.int32)
        if epilogue.seconds is not None:
            constants["seconds"] = epilogue.seconds.astype(np.int32)
        return constants

    @override
    def shared_code(self, layer: Layer) -> str | None:
        return SHARED_CODE

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        # layers of the same shape and activation are expected to share all of it
        shape = (layer.in_shape, layer.out_shape, _window(layer), widths, layer.activation)
        return _code(layer, widths, sha256(repr(shape).encode()).hexdigest()[:8])

    @override
    def exact_code(self, quantized: QuantizedLayer) -> Code:
        return _code(quantized.layer, Widths.of(quantized.formats), _digest(quantized, _epilogue(quantized)))

    @override
    def context(self, quantized: QuantizedLayer) -> PlanesContext:
        layer, epilogue = _plane(quantized.layer), _epilogue(quantized)
        return PlanesContext(
            epilogue=epilogue,
            plane=layer,
            is_turned=_is_turned(quantized.layer),
            shared=f"{SHARED_CODE}{_digest(quantized, epilogue)}",
            tile_rows=_tile_rows(layer),
            plane_rows=_rows(layer, _tile_rows(layer)),
            pitch=_pitch(layer),
            is_wide=_is_wide(layer),
        )


def _code(layer: Layer, widths: Widths, name: str) -> Code:
    """Return the code of a layer whose functions have this name.

    Parts beside those of C: `fours` of outputs in a row, unrolled on Cortex-M7 (`unrolled_fours`), and the `last` ones;
    loops over `tiles`; kernel rows (`plane_rows`) and the words of one (`plane_words`); gathered `pairs`, and single
    columns before and after them.
    """
    layer = _plane(layer)
    window, width = layer.window, layer.out_shape.width
    fours, columns = width // 4, layer.in_shape.width - window.pads.left % 2
    own = {
        "fours": fours > 0,
        "unrolled_fours": fours * (1 < fours <= UNROLLED_FOURS),
        "last": width % 4 > 0,
        "single_last": width % 4 == 1,
        "tiles": _tile_rows(layer) < layer.out_shape.height,
        "any_width": _is_wide(layer),
        "plane_rows": window.kernel[0],
        "plane_words": (window.kernel[1] + 1) // 2,
        "pairs": min(columns // 2, 4),
        "column_before": window.pads.left % 2,
        "column_behind": columns % 2,
    }
    parts = {**usual_code(layer, widths), **{part: float(count) for part, count in own.items()}}
    kind = f"{SHARED_CODE}{widths.x}"
    shared = {f"{SHARED_CODE}{name}": SharedFunction(kind, parts, is_in_layers=True)}
    tiled = ("dsp_planes_move_up",) if own["tiles"] else ()
    return Code({}, shared | {each: SharedFunction(each) for each in ("dsp_planes_set", *tiled)})


def _digest(quantized: QuantizedLayer, epilogue: Epilogue) -> str:
    """Return a hash that is the same for layers whose code differs only in its constants."""
    layer, formats = quantized.layer, quantized.formats
    shifts: tuple[object, ...] = (epilogue.rounding, epilogue.product_shift) if epilogue.rounding else ()
    if formats.shifted and not epilogue.is_high:
        shifts = (formats.shifted.pre_shift, formats.shifted.post_shift)
    one_factor = epilogue.factors.tolist() if len(epilogue.factors) == 1 else None
    values = [(each.bits, each.zero_point) for each in (formats.x, formats.y)]
    outputs = (quantized.clamp, shifts, one_factor, epilogue.is_high, epilogue.is_narrow, epilogue.is_capped)
    shape = (layer.in_shape, layer.out_shape, _window(layer), formats.weight_bits)
    return sha256(repr((shape, values, outputs)).encode()).hexdigest()[:8]


def _epilogue(quantized: QuantizedLayer) -> Epilogue:
    return Epilogue.of(quantized).one_at_a_time()


def _depthwise(layer: Layer) -> DepthwiseConv:
    if not isinstance(layer, DepthwiseConv):
        raise TypeError(f"{layer.kind} has no planes")
    return layer


def _window(layer: Layer) -> Window:
    return _depthwise(layer).window


def _plane(layer: Layer) -> DepthwiseConv:
    """Return the layer as its planes lie in the scratch buffer: turned ones have columns for rows."""
    return _turned(layer) if _is_turned(layer) else _depthwise(layer)


def _is_turned(layer: Layer) -> bool:
    window, (height, width, _) = _window(layer), layer.out_shape
    is_square = window.kernel[0] == window.kernel[1] and window.stride[0] == window.stride[1]
    leaves_fewer = height % 4 * width < width % 4 * height
    is_column = window.kernel[1] == 1 < window.kernel[0]
    return (is_column or (is_square and leaves_fewer)) and _tile_bytes(_turned(layer), width) <= TILE_BYTES


def _turned(layer: Layer) -> DepthwiseConv:
    """Return the layer with height and width exchanged, without its weights, for its sizes alone."""
    layer = _depthwise(layer)
    window, (height, width, channels) = layer.window, layer.in_shape
    pads = Pads(window.pads.left, window.pads.top, window.pads.right, window.pads.bottom)
    turned = replace(window, kernel=window.kernel[::-1], stride=window.stride[::-1], pads=pads)
    return replace(layer, in_shape=Shape(width, height, channels), window=turned)


def _is_wide(layer: Layer) -> bool:
    height, width = _window(layer).kernel
    return width != NARROW or height > MOST_NARROW_ROWS


def _pitch(layer: Layer) -> int:
    """Return the elements of a row of a plane: even, with its padding and what reading whole words needs."""
    window, width = _window(layer), layer.out_shape.width
    read = (width - 1) * window.stride[1] + window.kernel[1] + 1
    return (max(read, window.pads.left + layer.in_shape.width) + 1) // 2 * 2


def _rows(layer: Layer, outputs: int) -> int:
    """Return how many rows of inputs `outputs` rows of outputs need."""
    window = _window(layer)
    return (outputs - 1) * window.stride[0] + window.kernel[0]


def _tile_bytes(layer: Layer, outputs: int) -> int:
    return PLANES * _rows(layer, outputs) * _pitch(layer) * 2


def _tile_rows(layer: Layer) -> int:
    """Return the rows of outputs of a tile: as many as fit, at least one."""
    height = layer.out_shape.height
    return next((rows for rows in range(height, 1, -1) if _tile_bytes(layer, rows) <= TILE_BYTES), 1)
