"""Functions of one value from lookup tables: Sigmoid, Gelu, x * sigmoid(x) and others."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import FLOAT_BITS, Layer, Shape

BYTE_BITS = 8
STEP_BITS = 6  # of 16 bits between two entries: the table has 1025
LARGEST = float(np.finfo(np.float32).max)


def _has_name(function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> bool:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _left_out(_: NDArray[np.float64]) -> NDArray[np.float64]:
    raise NotImplementedError("a function without a name stays in the process that imported it")


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(Layer):
    """y = function(x), element by element; `real` has the values where that is not finite.

    The table has an entry per 8-bit input, by the unsigned number with the same bits, or for every 64th 16-bit input
    and one beyond the largest; values between are interpolated linearly.
    """

    kind: ClassVar[str] = "lookup"

    function: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    @override
    def __getstate__(self) -> dict[str, Any]:
        """Return what other processes get: they can estimate costs, but compute only functions that have a name."""
        return {**self.__dict__, "function": self.function if _has_name(self.function) else _left_out}

    def real(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function of `x` (any shape): 0 where there is none, as for roots of negative numbers."""
        with np.errstate(all="ignore"):
            return np.nan_to_num(self.function(x), nan=0.0, posinf=LARGEST, neginf=-LARGEST)

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output, which is that of the input."""
        return self.in_shape

    @property
    @override
    def operator_macc(self) -> int:
        """One per element."""
        return self.in_shape.size

    @override
    def is_elementwise(self, _: int) -> bool:
        return True

    @override
    def weights_bytes(self, bits: int) -> int:
        """Return the bytes of the table where input and output have the same width."""
        return 0 if bits == FLOAT_BITS else self.table_bytes(bits, bits)

    @staticmethod
    def table_bytes(x_bits: int, y_bits: int) -> int:
        """Return the bytes of the table: entries by the input's width, each of the output's width."""
        return _entries(x_bits) * y_bits // 8

    @override
    def constants(self, formats: LayerFormats) -> dict[str, IntArray]:
        """Return the `table`: output integers, with as many entries as `table_bytes` counts."""
        x = formats.x
        step = (1 << x.bits) // (_entries(x.bits) - (x.bits > BYTE_BITS))
        inputs = np.asarray((x.low + step * np.arange(_entries(x.bits)) - x.zero_point) * x.scale, np.float64)
        table = formats.y.quantize(self.real(inputs))
        return {"table": np.roll(table, x.low) if x.bits == BYTE_BITS else table}

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        table = quantized.constants["table"].astype(np.int64)
        if quantized.formats.x.bits == BYTE_BITS:
            return quantized.clamped(table[x])
        position = x.astype(np.int64) - quantized.formats.x.low
        low = position >> STEP_BITS
        between = position & ((1 << STEP_BITS) - 1)
        rise = (table[low + 1] - table[low]) * between + (1 << (STEP_BITS - 1))
        return quantized.clamped(table[low] + (rise >> STEP_BITS))


def _entries(bits: int) -> int:
    return 1 << bits if bits == BYTE_BITS else (1 << (bits - STEP_BITS)) + 1
