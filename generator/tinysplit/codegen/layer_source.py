"""C source of single layers: a quantized layer and its kernel, rendered from the kernel's template."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.codegen.row_hooks import NO_HOOKS, HooksContext, RowHooks, input_names
from tinysplit.common.templates import render
from tinysplit.common.texts.quoting import c_comment
from tinysplit.kernels import Kernel, choose
from tinysplit.kernels.base import KernelContext
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.row_order import RowOrder, one_row
from tinysplit.memory.arena import NEAR_BEGIN
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.window import layer_window
from tinysplit.network.quantized_graph import QuantizedLayer

if TYPE_CHECKING:
    from tinysplit.network.layers import Layer, Window

LINE_COLUMNS = 120
LONGEST_TITLE = LINE_COLUMNS - len("/*  */")  # exporters join the names of all fused operators
NUMBERS_IN_LINE = (16, 8, 4)  # the most that fit


@dataclass(frozen=True)
class ConstantArray:
    """A constant array of a kernel as C text: in flash, and copied to `offset` of the arena unless that is None.

    `owner` is the function of the layer whose file has the array, if that is another one; `is_shared`: others use it;
    `is_in_file`: its values are in the board's configuration file.
    """

    function: str
    name: str
    values: IntArray
    offset: int | None
    owner: str = ""
    is_shared: bool = False
    is_in_file: bool = False

    @property
    def symbol(self) -> str:
        """Name by which the kernel reads the array."""
        return f"{self.function}_{self.name}"

    @property
    def flash_symbol(self) -> str:
        """Name of the array in flash."""
        own = f"{self.owner or self.function}_{self.name}"
        return own if self.offset is None else f"{own}_in_flash"

    @property
    def place(self) -> str:
        """Address of the copy: in the arena, or next to the core."""
        offset = self.offset or 0
        return f"network_near + {offset - NEAR_BEGIN}" if offset >= NEAR_BEGIN else f"network_arena + {offset}"

    @property
    def c_type(self) -> str:
        """C type of an element."""
        return f"{self.values.dtype.name}_t"

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.values.size

    @property
    def rows(self) -> Iterator[str]:
        """Lines of numbers; every index of the first axis (output channels, kernel rows) begins a new line."""
        rows = self.values.reshape(1 if self.values.ndim == 1 else len(self.values), -1)
        width = max(len(str(limit)) for limit in (rows.min(), rows.max()))
        fitting = (LINE_COLUMNS - 1) // (width + 2)
        count = next(count for count in (*NUMBERS_IN_LINE, fitting) if count <= fitting)
        for row in rows.tolist():
            for start in range(0, len(row), count):
                yield " ".join(f"{value:{width}}," for value in row[start : start + count])


@dataclass(frozen=True, eq=False)
class LayerSource:
    """A quantized layer, the kernel that computes it, and its part in streamed transfers.

    `offsets` are those in the arena of the constants that are copied to RAM before the layer runs, or decrypted if
    `decrypts`.
    """

    quantized: QuantizedLayer
    kernel: Kernel
    hooks: RowHooks = NO_HOOKS
    offsets: Mapping[str, int] = field(default_factory=dict)
    owners: Mapping[str, int] = field(
        default_factory=dict
    )  # numbers, from 1, of layers that have constants of this one
    shared: frozenset[str] = frozenset()  # constants that other layers use
    in_file: bool = False  # whether the values of constants are in the board's configuration file
    decrypts: bool = False

    @classmethod
    def choose(cls, table: CycleTable, quantized: QuantizedLayer, core: str, name: str | None = None) -> Self:
        """Choose the fastest kernel on `core` (GCC's -mcpu name), among those of that name if there are any."""
        return cls(quantized, choose(table, quantized.dequantized, core, Widths.of(quantized.formats), name=name))

    @cached_property
    def constants(self) -> Mapping[str, IntArray]:
        """Arrays that the kernel reads, by name."""
        return self.kernel.constants(self.quantized)

    @property
    def fixed_formats(self) -> LayerFormats:
        """Formats of the layer; with weights in a file, these have all that the program's code depends on."""
        groups = self.kernel.packed_groups(self.quantized) if self.in_file else ()
        return replace(self.quantized.formats, packed_groups=groups)

    @property
    def call(self) -> "LayerSource":
        """What one call of the kernel computes: the layer, or a row of it where hooks need calls for every row."""
        if not self.hooks.are_called or not _row_order(self).by_calls:
            return self
        return replace(self, quantized=replace(self.quantized, layer=one_row(self.quantized.layer)))

    @property
    def weights_bytes(self) -> int:
        """Bytes of all constants that the layer has in flash."""
        return sum(array.nbytes for name, array in self.constants.items() if name not in self.owners)

    @property
    def copies_constants(self) -> bool:
        """Whether the layer copies constants to RAM: those that it has."""
        return any(name not in self.owners for name in self.offsets)

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the kernel's scratch buffer, the third argument of its function; 0 if it needs none."""
        return self.kernel.scratch_bytes(self.quantized.layer, Widths.of(self.quantized.formats))


def file_name(quantized: QuantizedLayer, number: int) -> str:
    """Return the name of a layer's C file: `layer_03_conv.c`."""
    return f"layer_{number:02}_{quantized.layer.kind}.c"


def function_name(number: int) -> str:
    """Return the name of a layer's function, which is also the prefix of its constants' symbols."""
    return f"layer_{number}"


def copy_function_name(number: int) -> str:
    """Return the name of the function that copies a layer's constants to RAM."""
    return f"{function_name(number)}_copy_constants"


@dataclass(frozen=True)
class LayerContext:
    """Template context of every layer; `kernel` is the context of its kernel, `hooks` are for streamed transfers."""

    title: str
    description: tuple[str, ...]
    layer: "Layer"
    formats: LayerFormats
    kernel: KernelContext
    hooks: HooksContext
    window: "Window | None"
    function: str
    signature: str
    x_type: str
    y_type: str
    w_type: str
    sizes: Mapping[str, int]
    low: int  # limits of the fused activation
    high: int
    offset: int  # added by the requantization before its last shift
    constants: Mapping[str, ConstantArray]
    copy_signature: str
    copy_header: str  # of the next
    copy_call: str  # function that copies or decrypts an array

    @classmethod
    def of(cls, source: LayerSource, number: int) -> Self:
        """Return the facts of the layer with this number."""
        call, function = source.call, function_name(number)
        quantized = call.quantized
        formats, (low, high) = quantized.formats, quantized.clamp
        signature, order = _signature(function, _parameters(source)), _row_order(source)
        hooks = HooksContext.of(
            source.hooks, source.quantized.layer, order, signature, has_scratch=call.scratch_bytes > 0
        )
        if hooks.by_calls:
            signature = _signature(f"{function}_row", _parameters(source), "static void")
        return cls(
            title=_title(quantized, number),
            description=tuple(_description(source)),
            layer=quantized.layer,
            formats=formats,
            kernel=source.kernel.context(quantized),
            hooks=hooks,
            window=layer_window(quantized.layer),
            function=function,
            signature=signature,
            x_type=c_type(formats.x),
            y_type=c_type(formats.y),
            w_type=f"int{formats.weight_bits or formats.x.bits}_t",
            sizes=_sizes(quantized),
            low=low,
            high=high,
            offset=_offset(quantized),
            constants=dict(_arrays(source, call.constants, function)),
            copy_signature=_copy_signature(number),
            copy_header="weights_key.h" if source.decrypts else "words.h",
            copy_call="weights_key_decrypt" if source.decrypts else "words_copy",
        )


def _arrays(
    source: LayerSource, constants: Mapping[str, IntArray], function: str
) -> Iterator[tuple[str, ConstantArray]]:
    for name, values in constants.items():
        owner = function_name(source.owners[name]) if name in source.owners else ""
        kind = {"is_shared": name in source.shared, "is_in_file": source.in_file}
        yield name, ConstantArray(function, name, values, source.offsets.get(name), owner, **kind)


def own_arrays(source: LayerSource, number: int) -> Iterator[ConstantArray]:
    """Yield the constants that are in the layer's own file."""
    arrays = _arrays(source, source.call.constants, function_name(number))
    return (array for _, array in arrays if not array.owner)


@dataclass(frozen=True)
class Prototype:
    """A layer's function as `layers.h` declares it."""

    title: str
    signature: str
    copy_signature: str  # of the function that copies its constants to RAM, empty without copies


@dataclass(frozen=True)
class HeaderContext:
    """Template context of `layers.h`."""

    layers: tuple[Prototype, ...]


def render_layer(source: LayerSource, number: int) -> str:
    """Return the C file of a layer: its constants in flash and `void layer_<number>(input, output[, scratch])`."""
    return render(source.kernel.template(source.quantized.layer), LayerContext.of(source, number))


def render_header(kernels: Mapping[int, LayerSource]) -> str:
    """Return `layers.h`: the prototypes of layers by number, in their order."""
    prototypes = tuple(
        Prototype(
            _title(source.quantized, number),
            _signature(function_name(number), _parameters(source)),
            _copy_signature(number) if source.copies_constants else "",
        )
        for number, source in kernels.items()
    )
    return render("layers.h.j2", HeaderContext(prototypes))


def _copy_signature(number: int) -> str:
    return f"void {copy_function_name(number)}(void)"


def _parameters(source: LayerSource) -> tuple[str, ...]:
    """Return the parameters of a kernel's function; input and output overlap where the kernel allows it."""
    layer, formats = source.quantized.layer, source.quantized.formats
    x_type, y_type = c_type(formats.x), c_type(formats.y)
    scratch = ("void *restrict scratch",) if source.scratch_bytes else ()
    first, *others = input_names(layer)
    if others:
        inputs = (f"const {c_type(x)} *{name}" for name, x in zip((first, *others), formats.inputs, strict=True))
        return (*inputs, f"{y_type} *output", *scratch)
    restrict = "restrict " if source.kernel.lead(layer, 0, Widths.of(formats)) is None else ""
    return (f"const {x_type} *{restrict}{first}", f"{y_type} *{restrict}output", *scratch)


def _row_order(source: LayerSource) -> RowOrder:
    return source.kernel.row_order(source.quantized.layer, Widths.of(source.quantized.formats))


def _signature(function: str, parameters: Sequence[str], result: str = "void") -> str:
    """Return the head of a function, on several lines where one is too short."""
    line = f"{result} {function}({', '.join(parameters)})"
    if len(line) + len(" {") <= LINE_COLUMNS:
        return line
    first, last = parameters[: len(parameters) // 2], parameters[len(parameters) // 2 :]
    return f"{result} {function}(\n    {', '.join(first)},\n    {', '.join(last)})"


def c_type(values: ValueFormat) -> str:
    """Return the C type of values."""
    return f"int{values.bits}_t"


def _offset(quantized: QuantizedLayer) -> int:
    """Return added by the requantization before its last shift, 0 for a layer that does not requantize."""
    shifted = quantized.formats.shifted
    return shifted.offset(quantized.formats.y.zero_point) if shifted else 0


def _title(quantized: QuantizedLayer, number: int) -> str:
    """Return number, kind and name of a layer; the name is changed so that it cannot end a comment."""
    title = f"layer {number}, {quantized.layer.kind.replace('_', ' ')} {c_comment(quantized.layer.name)}"
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 3] + "..."


def _description(source: LayerSource) -> Iterator[str]:
    """Yield the lines of the C file's first comment: shapes, formats, kernel."""
    quantized = source.quantized
    layer, formats = quantized.layer, quantized.formats
    window = layer_window(layer)
    inputs = ", ".join(f"{shape} {x}" for shape, x in zip(layer.in_shapes, formats.inputs, strict=True))
    yield f"{inputs} -> {layer.out_shape} {formats.y}, {layer.macc} MACs"
    if window:
        yield str(window)
    if formats.weight_bits and formats.requantization:
        scales = _scales(formats.weight_scales)
        yield f"{formats.weight_bits}-bit weights, {scales}; requantization: {formats.requantization}"
    if str(layer.activation):
        yield f"{layer.activation} fused: outputs from {quantized.clamp[0]} to {quantized.clamp[1]}"
    scratch = f", {source.scratch_bytes} bytes of scratch" if source.scratch_bytes else ""
    yield f"scheme: {source.kernel.scheme(layer)}, kernel: {source.kernel.name}{scratch}"


def _scales(scales: NDArray[np.float64]) -> str:
    """Return the range of the channels' scales."""
    low, high = f"{scales.min():.3g}", f"{scales.max():.3g}"
    return f"scale {low}" if low == high else f"scales {low} to {high} per channel"


def _sizes(quantized: QuantizedLayer) -> dict[str, int]:
    """Return the constants that every kernel of this shape uses, by C name."""
    layer = quantized.layer
    sizes = {
        f"{side}_{axis.upper()}": size
        for side, shape in (("IN", layer.in_shape), ("OUT", layer.out_shape))
        for axis, size in shape._asdict().items()
    }
    window = layer_window(layer)
    if window:
        for name, pair in (("KERNEL", window.kernel), ("STRIDE", window.stride), ("DILATION", window.dilation)):
            sizes |= {f"{name}_HEIGHT": pair[0], f"{name}_WIDTH": pair[1]}
        sizes |= {"PAD_TOP": window.pads.top, "PAD_LEFT": window.pads.left}
    return sizes
