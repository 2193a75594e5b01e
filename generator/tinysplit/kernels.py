"""C of single layers, from the template of the layer's kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinysplit.qformat import IntArray
from tinysplit.quantized import QuantizedLayer
from tinysplit.rendering import render

if TYPE_CHECKING:
    from tinysplit.layers import Layer, Window

LONGEST_TITLE = 100  # exporters join the names of all fused operators
NUMBERS_A_LINE = 16


@dataclass(frozen=True)
class ConstantArray:
    """A constant of a kernel as C prints it."""

    symbol: str
    values: IntArray

    @property
    def c_type(self) -> str:
        """Type of an element."""
        return f"{self.values.dtype.name}_t"

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.values.size

    @property
    def rows(self) -> Iterator[str]:
        """Lines of numbers; the first axis (output channels, kernel rows) begins new lines."""
        rows = self.values.reshape(1 if self.values.ndim == 1 else len(self.values), -1)
        width = max(len(str(limit)) for limit in (rows.min(), rows.max()))
        for row in rows.tolist():
            for start in range(0, len(row), NUMBERS_A_LINE):
                yield " ".join(f"{value:{width}}," for value in row[start : start + NUMBERS_A_LINE])


def file_name(quantized: QuantizedLayer, number: int) -> str:
    """Return the name of a layer's C file: `layer_03_conv.c`."""
    return f"layer_{number:02}_{quantized.layer.kind}.c"


def function_name(number: int) -> str:
    """Return the name of a layer's function, which is also the prefix of its constants' symbols."""
    return f"layer_{number}"


def render_layer(quantized: QuantizedLayer, number: int) -> str:
    """Return the C file of a layer: its constants in flash and `void layer_<number>(input, output)`."""
    layer, function = quantized.layer, function_name(number)
    low, high = quantized.clamp
    return render(
        f"layers/{layer.kind}.c.j2",
        layer=layer,
        formats=quantized.formats,
        function=function,
        value=_value_type(quantized),
        window=_window(layer),
        title=_title(quantized, number),
        description=_description(quantized),
        sizes=_sizes(quantized),
        low=low,
        high=high,
        constants={name: ConstantArray(f"{function}_{name}", values) for name, values in quantized.constants.items()},
    )


def render_header(layers: Mapping[int, QuantizedLayer]) -> str:
    """Return `layers.h`: the prototypes of layers by number, in their order."""
    prototypes = [
        {"title": _title(quantized, number), "function": function_name(number), "value": _value_type(quantized)}
        for number, quantized in layers.items()
    ]
    return render("layers.h.j2", layers=prototypes)


def _window(layer: "Layer") -> "Window | None":
    """Return the window of a layer that has one."""
    window: Window | None = getattr(layer, "window", None)
    return window


def _value_type(quantized: QuantizedLayer) -> str:
    """Return the C type of the layer's values."""
    return f"int{quantized.formats.x.bits}_t"


def _title(quantized: QuantizedLayer, number: int) -> str:
    """Return number, kind and name, the latter such that it cannot end a comment."""
    name = "".join(c if c.isascii() and c.isprintable() else "?" for c in quantized.layer.name)
    name = name.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
    if len(name) > LONGEST_TITLE:
        name = name[: LONGEST_TITLE - 3] + "..."
    return f"layer {number}, {quantized.layer.kind.replace('_', ' ')} {name}"


def _description(quantized: QuantizedLayer) -> Iterator[str]:
    """Yield what the head of the C file says about shapes and formats."""
    layer, formats = quantized.layer, quantized.formats
    window = _window(layer)
    yield f"{layer.in_shape} {formats.x} -> {layer.out_shape} {formats.y}, {layer.macc} MACC"
    if window:
        yield str(window)
    if formats.w:
        yield f"weights {formats.w}, sums and bias {formats.accumulator}, shifted right by {formats.shift} bits"
    if str(layer.activation):
        yield f"{layer.activation} fused: outputs from {quantized.clamp[0]} to {quantized.clamp[1]}"
    yield "scheme: interleaved (height x width x channels)"


def _sizes(quantized: QuantizedLayer) -> dict[str, int]:
    """Return the constants that every kernel of this shape uses, by C name."""
    layer = quantized.layer
    sizes = {
        f"{side}_{axis.upper()}": size
        for side, shape in (("IN", layer.in_shape), ("OUT", layer.out_shape))
        for axis, size in shape._asdict().items()
    }
    window = _window(layer)
    if window:
        for name, pair in (("KERNEL", window.kernel), ("STRIDE", window.stride), ("DILATION", window.dilation)):
            sizes |= {f"{name}_HEIGHT": pair[0], f"{name}_WIDTH": pair[1]}
        sizes |= {"PAD_TOP": window.pads.top, "PAD_LEFT": window.pads.left}
    return sizes
