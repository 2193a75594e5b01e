"""Compiles layers with the hooks of streamed transfers for the host, and runs them while their input arrives."""

from dataclasses import dataclass, replace
from math import lcm
from pathlib import Path

import numpy as np

from kernel_cases.kernels_on_host import MAX_INPUTS, SANITIZED, run_program
from kernel_cases.layer_cases import hard_inputs
from tinysplit.codegen.layer_source import LayerSource, render_layer
from tinysplit.codegen.row_hooks import RowHooks
from tinysplit.kernels.row_order import RowOrder, keeps_lead, may_arrive_in_place, rows_needed
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers import Layer

RUN_STREAMED = Path(__file__).parents[2] / "c" / "run_streamed_layers.c"
BOTH = RowHooks(awaits=True, announces=True)


@dataclass(frozen=True)
class StreamedCase:
    """A layer with hooks, and the input that arrives row by row."""

    source: LayerSource
    k: int

    @property
    def widths(self) -> Widths:
        """Bits of that input, of the weights and of the output."""
        formats = self.source.quantized.formats
        return Widths.of(formats)._replace(x=formats.inputs[self.k].bits)

    @property
    def order(self) -> RowOrder:
        """The row order of the kernel."""
        quantized = self.source.quantized
        return self.source.kernel.row_order(quantized.layer, Widths.of(quantized.formats))

    @property
    def distance(self) -> int | None:
        """The least distance from the output to the input, in words, None if the output must not lie over it."""
        kernel, layer = self.source.kernel, self.source.quantized.layer
        lead = kernel.lead(layer, self.k, self.widths)
        if lead is None:
            return None
        unit = lcm(lead.unit_bytes, 4)
        in_bytes = layer.in_shapes[self.k].size * self.widths.x // 8
        first = max(-(-lead.least_bytes // unit), -(in_bytes // unit)) * unit
        out_bytes = layer.out_shape.size * self.widths.y // 8
        return next((at for at in range(first, out_bytes, unit) if self._may_be(at)), None)

    def _may_be(self, distance: int) -> bool:
        kernel, layer = self.source.kernel, self.source.quantized.layer
        call = self.source.call.quantized.layer
        keeps = not self.order.by_calls or keeps_lead(
            layer, self.k, self.widths, distance, kernel.lead(call, self.k, self.widths)
        )
        in_bytes = layer.in_shapes[self.k].size * self.widths.x // 8
        return keeps and may_arrive_in_place(*row_bytes(layer, self.k, self.widths), in_bytes, distance)


def row_bytes(layer: Layer, k: int, widths: Widths) -> tuple[IntArray, IntArray]:
    """Return the bytes of input k that each row of the output needs, and those of the output up to its end."""
    needed, rows = rows_needed(layer), layer.out_shape.height
    assert needed is not None
    in_bytes = layer.in_shapes[k].size // layer.in_shapes[k].height * widths.x // 8
    return needed * in_bytes, np.arange(1, rows + 1) * (layer.out_shape.size // rows * widths.y // 8)


def with_hooks(rng: np.random.Generator, sources: list[LayerSource]) -> list[StreamedCase]:
    """Return those layers whose kernel has a row order, with hooks; one of the inputs as large as a map arrives."""
    found = []
    for source in sources:
        layer = source.quantized.layer
        own = StreamedCase(replace(source, hooks=BOTH), 0)
        if not own.order.reason:
            maps = [k for k, shape in enumerate(layer.in_shapes) if shape.height == layer.in_shape.height]
            found.append(replace(own, k=int(rng.choice(maps))))
    return found


def assert_streamed_equals_the_reference(tmp_path: Path, rng: np.random.Generator, drawn: list[StreamedCase]) -> None:
    """Run all cases on the host: every row must be right when it is announced."""
    numbered = dict(enumerate(drawn, 1))
    inputs = [_allowed(rng, each.source) for each in drawn]
    output = _run(tmp_path, numbered, inputs)
    for number, (each, xs) in enumerate(zip(drawn, inputs, strict=True), 1):
        quantized = each.source.quantized
        expected = quantized.layer.integer_reference(quantized, *xs).tobytes()
        assert output[: len(expected)] == expected, render_layer(each.source, number)
        output = output[len(expected) :]
    assert not output


def _allowed(rng: np.random.Generator, source: LayerSource) -> list[IntArray]:
    """Return hard inputs; the first within the bounds of the layer."""
    first, *others = hard_inputs(rng, source.quantized)
    return [first.clip(*source.quantized.x_bounds).astype(first.dtype), *others]


def _run(folder: Path, numbered: dict[int, StreamedCase], inputs: list[list[IntArray]]) -> bytes:
    sources = {number: each.source for number, each in numbered.items()}
    cases = [_case(number, each) for number, each in numbered.items()]
    return run_program(SANITIZED, RUN_STREAMED, folder, sources, cases, inputs)


def _case(number: int, case: StreamedCase) -> str:
    """Return a line of `struct layer_case`."""
    layer, formats = case.source.quantized.layer, case.source.quantized.formats
    shapes = zip(layer.in_shapes, formats.inputs, strict=True)
    sizes = [str(shape.size * x.bits // 8) for shape, x in shapes]
    assert len(sizes) <= MAX_INPUTS
    fields = {
        "run": f"run_{number}",
        "input_bytes": f"{{{', '.join(sizes)}}}",
        "output_bytes": layer.out_shape.size * formats.y.bits // 8,
        "scratch_bytes": case.source.scratch_bytes,
        "streamed": case.k,
        "in_rows": layer.in_shapes[case.k].height,
        "out_rows": layer.out_shape.height,
        "calls": case.order.passes * layer.out_shape.height,
        "distance": "NONE" if case.distance is None else case.distance,
    }
    return f"{{{', '.join(f'.{name} = {value}' for name, value in fields.items())}}}"
