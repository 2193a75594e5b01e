"""Calls in the C of a layer that takes part in a streamed transfer: firmware/common/row_stream.h."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.kernels.row_order import RowOrder, rows_ahead
from tinysplit.network.layers import Layer
from tinysplit.network.layers.joining import Joining
from tinysplit.network.layers.window import layer_window


@dataclass(frozen=True)
class RowHooks:
    """Whether a layer awaits the rows of an input that still arrives, and announces complete rows of its output."""

    awaits: bool = False
    announces: bool = False

    @property
    def are_called(self) -> bool:
        """Whether there are any."""
        return self.awaits or self.announces


NO_HOOKS = RowHooks()


@dataclass(frozen=True)
class HooksContext:
    """The variable `hooks` of templates.

    `by_calls`: the template's function computes one row, and the function with `signature` calls it for each of `rows`
    with `arguments`.
    """

    awaits: bool
    announces: bool
    by_calls: bool
    signature: str
    rows: int
    arguments: Sequence[str]
    ahead: int  # rows of the input that the first row of the output needs
    is_strided: bool

    @classmethod
    def of(cls, hooks: RowHooks, layer: Layer, order: RowOrder, signature: str, *, has_scratch: bool) -> "HooksContext":
        """Return the hooks of `layer`, whose function has this `signature`."""
        window = layer_window(layer)
        return cls(
            awaits=hooks.awaits,
            announces=hooks.announces,
            by_calls=hooks.are_called and order.by_calls,
            signature=signature,
            rows=layer.out_shape.height,
            arguments=(*_row_pointers(layer), *(["scratch"] if has_scratch else [])),
            ahead=rows_ahead(layer),
            is_strided=window is not None and window.stride[0] > 1,
        )

    @property
    def are_called(self) -> bool:
        """Whether the layer calls any."""
        return self.awaits or self.announces

    def needed(self, row: str) -> str:
        """Return the number of input rows that output row `row` (the name of a variable) needs, as C."""
        start = f"{row} * STRIDE_HEIGHT" if self.is_strided else row
        return f"{start} {'+' if self.ahead > 0 else '-'} {abs(self.ahead)}" if self.ahead else start


def input_names(layer: Layer) -> Sequence[str]:
    """Return the names of a layer's inputs in C."""
    is_alone = len(layer.inputs) == 1 and not isinstance(layer, Joining)
    return ["input"] if is_alone else [f"input_{k}" for k in range(len(layer.inputs))]


def _row_pointers(layer: Layer) -> Sequence[str]:
    """Return the addresses of row `row` of each input and of the output; an input of one row serves all of them."""
    pointers = [
        f"{name} + row * {shape.size // shape.height}" if shape.height > 1 else name
        for name, shape in zip(input_names(layer), layer.in_shapes, strict=True)
    ]
    return (*pointers, f"output + row * {layer.out_shape.size // layer.out_shape.height}")
