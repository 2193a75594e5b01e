"""Views: rows of a tensor, or tensors one below the other, in the memory that they have already.

In HWC order rows are contiguous, so that a view takes neither time nor memory of its own. Views occur only in
distributed networks (network/distribute.py).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.joining import Joining


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSlice(Layer):
    """Rows `first` to `end` - 1 of the input."""

    kind: ClassVar[str] = "row_slice"
    keeps_sign: ClassVar[bool] = True
    is_view: ClassVar[bool] = True

    first: int
    end: int

    @property
    @override
    def keeps_format(self) -> bool:
        return True

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the rows."""
        return self.in_shape._replace(height=self.end - self.first)

    @property
    @override
    def operator_macc(self) -> int:
        """None: nothing is computed."""
        return 0

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        return x[:, self.first : self.end]


@dataclass(frozen=True, eq=False, kw_only=True)
class RowJoin(Joining):
    """The rows of all inputs, one input below the other; all have one format."""

    kind: ClassVar[str] = "row_join"
    keeps_sign: ClassVar[bool] = True
    is_view: ClassVar[bool] = True

    @property
    @override
    def keeps_format(self) -> bool:
        return True

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of all rows together."""
        return self.in_shape._replace(height=sum(shape.height for shape in self.in_shapes))

    @property
    @override
    def operator_macc(self) -> int:
        """None: nothing is computed."""
        return 0

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        return np.concatenate(inputs, axis=1)
