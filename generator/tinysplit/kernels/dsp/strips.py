"""Strips: the im2col buffer of `dual_mac` for a run of neighbouring pixels, widened from 8 to 16 bits.

Unlike im2col, values that several windows of a row share are stored once.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import product

from tinysplit.kernels.cost_table import Work
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.window import Window, layer_window

SHORT_PAIRS, SHORT_INTERLEAVED = 24, 16  # of a pointwise layer, whose code fits the cache of an L4 nearly
STRIP_BYTES = 640  # longer strips save little: only the columns shared by two strips are widened twice


class StripLayout(StrEnum):
    """How a strip holds its values: functions `dsp_conv_fill_<layout>` of firmware/common/dsp_conv.h."""

    ROWS = "rows"
    ROWS_TWICE = "rows_twice"
    DILATED = "dilated"
    SOME_CHANNELS = "some_channels"
    INTERLEAVED_GROUPED = "interleaved_grouped"
    INTERLEAVED_HALVES = "interleaved_halves"
    INTERLEAVED = "interleaved"


@dataclass(frozen=True)
class Strips:
    """The strips of a layer: a pointwise layer is one row of all pixels, a fully connected layer a single pixel.

    A strip holds, for every kernel row, the values under that row of `pixels` neighbouring outputs. Elements are
    16-bit values. `value_bytes` is the width of the layer's inputs. Kernel columns that are dilated count as rows.
    `takes_some`: input pixels have more channels than the layer takes; `is_contiguous`: rows of outputs follow each
    other.
    """

    layer: Layer
    value_bytes: int
    takes_some: bool = False
    is_contiguous: bool = True

    @cached_property
    def window(self) -> Window:
        """The window of a convolution, 1x1 for a fully connected layer."""
        return layer_window(self.layer) or Window((1, 1))

    @property
    def is_flat(self) -> bool:
        """Whether all pixels may be treated as one row."""
        return self.window == Window((1, 1)) and self.is_contiguous

    @property
    def is_dilated(self) -> bool:
        """Whether the columns of a kernel row are apart."""
        return self.window.dilation[1] > 1

    @property
    def kernel_rows(self) -> int:
        """Rows of a strip."""
        return self.window.kernel[0] * (self.window.kernel[1] if self.is_dilated else 1)

    @cached_property
    def in_size(self) -> tuple[int, int, int]:
        """Height, width, channels of the input."""
        if isinstance(self.layer, Dense):
            return 1, 1, self.layer.in_shape.size
        height, width, channels = self.layer.in_shape
        return (1, height * width, channels) if self.is_flat else (height, width, channels)

    @cached_property
    def out_size(self) -> tuple[int, int]:
        """Height and width of the output."""
        height, width, _ = self.layer.out_shape
        return (1, height * width) if self.is_flat else (height, width)

    @property
    def are_interleaved(self) -> bool:
        """Whether two pixels are stored word by word in turn, for windows that share no values and need no padding."""
        return self.window.kernel == (1, 1) and not self.window.is_clipped

    @property
    def is_short(self) -> bool:
        """Whether the pairs of a window are so few that the inner loop is unrolled completely."""
        return self.kernel_rows * self.pairs <= (SHORT_INTERLEAVED if self.are_interleaved else SHORT_PAIRS)

    @property
    def has_own_loop(self) -> bool:
        """Whether the inner loop for two pixels is generated for the layer: the firmware has that of pointwise ones."""
        return self.pixels > 1 and (self.is_short or not self.are_interleaved)

    @property
    def suffix(self) -> str:
        """The end of the C name of the inner loop for two pixels: all that its code depends on."""
        if self.are_interleaved:
            return f"interleaved_{self.pairs}" if self.is_short else "interleaved"
        size = f"_{self.kernel_rows}x{self.pairs}_{self.row_length}" if self.is_short else ""
        return f"{2 * self.distance}{size}"

    @property
    def step(self) -> int:
        """Elements from a pixel to its neighbour."""
        return self.window.stride[1] * self.in_size[2]

    @property
    def row_elements(self) -> int:
        """Elements under a kernel row."""
        return self.in_size[2] * (1 if self.is_dilated else self.window.kernel[1])

    @property
    def pairs(self) -> int:
        """Pairs of elements under a kernel row; an element beyond an odd number is multiplied by zero."""
        return -(-self.row_elements // 2)

    @property
    def copies(self) -> int:
        """Copies of a kernel row: odd pixels have their own where they would otherwise not begin on a word."""
        return 1 + self.step % 2

    def _row_length(self, pixels: int) -> int:
        """Return the elements of one row of a strip, even."""
        last = pixels - 1
        return (last if self.copies == 1 else last // 2 * 2) * self.step + 2 * self.pairs

    def _bytes(self, pixels: int) -> int:
        return 2 * self.kernel_rows * self.copies * self._row_length(pixels)

    @cached_property
    def pixels(self) -> int:
        """Pixels of a strip: an even number, or all pixels of a row."""
        width = self.out_size[1]
        pixels = min(width, 2)
        while pixels < width and self._bytes(pixels + 2) <= STRIP_BYTES:
            pixels += 2
        return min(pixels, width)

    @property
    def row_length(self) -> int:
        """Elements of one row of a strip."""
        return self._row_length(self.pixels)

    @property
    def joins_rows(self) -> bool:
        """Whether the last pixels of two rows, each of which has no neighbour, are computed together."""
        height, width = self.out_size
        return height > 1 and width % 2 > 0 and self._joined_bytes <= STRIP_BYTES

    @property
    def _joined_bytes(self) -> int:
        return 2 * 4 * self.kernel_rows * self.pairs

    @property
    def scratch_bytes(self) -> int:
        """Bytes of a strip, and of the windows of two last pixels."""
        return self._bytes(self.pixels) + self.joins_rows * self._joined_bytes

    @property
    def distance(self) -> int:
        """Elements between a pixel and the next one in the strip."""
        return self.step if self.copies == 1 else self.kernel_rows * self.row_length

    @property
    def moved(self) -> int:
        """Elements of all strips."""
        height, width = self.out_size
        return height * -(-width // self.pixels) * self.kernel_rows * self.copies * self.row_length

    @property
    def _pads(self) -> int:
        """How often a run of elements beside the map is filled for one kernel row of all strips."""
        (width, columns), channels = (self.in_size[1], self.window.kernel[1]), self.in_size[2]
        shifts = range(columns) if self.is_dilated else range(1)
        pads = 0
        for begin in range(0, self.out_size[1], self.pixels):
            pixels = min(self.pixels, self.out_size[1] - begin)
            for odd, shift in product(range(min(self.copies, pixels)), shifts):
                own = (pixels - odd - 1) // self.copies * self.copies
                column = shift * self.window.dilation[1]
                first = ((begin + odd) * self.window.stride[1] + column - self.window.pads.left) * channels
                pads += (first < 0) + (first + own * self.step + self.row_elements > width * channels)
        return pads

    @property
    def work(self) -> Work:
        """The work of filling all strips.

        Parts: `widened` elements, in rows of strips (`fill`), `odd_` where channels are no multiple of four; `zeroed`
        elements outside the map, in runs (`pads`); `apart`: elements of interleaved pixels; `pieces`: pixels that are
        widened one by one.
        """
        (height, width), odd = self.out_size, "odd_" if self.in_size[2] % 4 else ""
        strips = height * -(-width // self.pixels)
        if self.are_interleaved:
            return {"strip": strips, f"{odd}apart": height * width * 2 * self.pairs}
        rows = self.window.covered(Shape(*self.in_size))[0]
        fills, every = strips // height * self.copies, len(rows) * self.window.kernel[0]
        fills *= self.kernel_rows // self.window.kernel[0]
        return {
            "strip": strips,
            "pieces": self.takes_some * every * fills * self.row_length / self.in_size[2],
            "fill": every * fills,
            f"{odd}widened": int(rows.sum()) * fills * self.row_length,
            "zeroed": (every - int(rows.sum())) * fills * self.row_length,
            "pads": (every - int(rows.sum())) * fills + int(rows.sum()) * self._pads,
        }

    @property
    def is_grouped(self) -> bool:
        """Whether values are in groups of four in the order 0 2 1 3, in which SXTB16 widens the bytes of a word."""
        return self.value_bytes == 1 and self.in_size[2] % 4 == 0

    @property
    def layout(self) -> StripLayout:
        """The first layout of this table whose condition holds."""
        halves_in_fours = self.value_bytes > 1 and self.row_elements % 4 == 0
        table = (
            (self.are_interleaved and self.is_grouped, StripLayout.INTERLEAVED_GROUPED),
            (self.are_interleaved and halves_in_fours, StripLayout.INTERLEAVED_HALVES),
            (self.are_interleaved, StripLayout.INTERLEAVED),
            (self.takes_some, StripLayout.SOME_CHANNELS),
            (self.is_dilated, StripLayout.DILATED),
            (self.copies == 1 or self.pixels == 1, StripLayout.ROWS),
            (True, StripLayout.ROWS_TWICE),
        )
        return next(layout for condition, layout in table if condition)

    @property
    def widen(self) -> str:
        """The function of firmware/common/dsp_conv.h that widens the values."""
        if self.value_bytes > 1:
            return "dsp_conv_copy_halves"
        return "dsp_conv_widen_grouped" if self.is_grouped else "dsp_conv_widen_bytes"
