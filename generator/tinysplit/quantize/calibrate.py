"""Calibration: the statistics of a float network's values on samples, and the fixed-point networks that follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Self

from rich.console import Console

from tinysplit.common.choices import LONG_BITS, SHORT_BITS
from tinysplit.common.errors import InputError
from tinysplit.common.progress import steps
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Layer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import FloatScores
from tinysplit.quantize.calibrated_parameters import calibrate_parameters
from tinysplit.quantize.choose_formats import choose_formats, keep_structure, quantize, widest
from tinysplit.quantize.read_errors import ReadError
from tinysplit.quantize.statistics import Range, Statistics, value_statistics
from tinysplit.quantize.value_scales import best_formats


@dataclass(frozen=True, eq=False)
class Calibration:
    """A float network, calibration samples, and the statistics of its values on them, by ONNX value name."""

    graph: Graph
    model: Path
    samples: Samples
    statistics: Mapping[str, Statistics]

    @classmethod
    def of(cls, graph: Graph, model: Path, samples: Samples, messages: Console) -> Self:
        """Run the float network on all samples.

        Raises InputError where ONNX Runtime cannot, or computes values of other sizes than the layers.
        """
        joined = graph.side_by_side
        onnx_values = {name: own for name, own in graph.onnx_values.items() if name not in joined}
        with steps(messages, f"calibrating on {len(samples.x)} samples"):
            statistics = value_statistics(model, onnx_values.values(), samples.x, graph.qdq_formats)
        for layer in graph.layers:
            if layer.output not in joined:
                _check_size(layer, statistics[layer.onnx_value].count // len(samples.x))
        without_place = {
            name: replace(statistics[own], extremes=None) for name, own in onnx_values.items() if name != own
        }
        every = {**statistics, **without_place}
        sums = {
            name: reduce(add, (replace(every[value], extremes=None) for value in values))
            for name, values in joined.items()
        }
        return cls(graph, model, samples, {**every, **sums})

    def nearest(self, widths: BitWidths) -> QuantizedGraph:
        """Return the network in the formats of least error, with weights and biases rounded to nearest.

        Raises InputError where no formats keep a layer's accumulators in 32 bits.
        """
        in_8_bits = {name: values for name, values in self._best_formats.items() if widths.values[name] == values.bits}
        formats = choose_formats(self.graph, self._ranges(widths), widths, in_8_bits)
        return quantize(self.graph, formats, widest(formats))

    def best(self, widths: BitWidths) -> QuantizedGraph:
        """Return the network with calibrated weight rounding and bias correction, where weights have few bits.

        Raises InputError where no formats keep a layer's accumulators in 32 bits.
        """
        reference = self._in_16_bits
        if reference is None:
            return self.nearest(widths)
        is_reference = widths == BitWidths.of(self.graph, LONG_BITS)
        return reference if is_reference else calibrate_parameters(self.nearest(widths), reference, self.samples.x)

    def in_structure(self, formats: Sequence[LayerFormats]) -> QuantizedGraph:
        """Return the network in the formats of another one, with other scales of weights; else as `best`.

        The errors are those of `keep_structure`.
        """
        nearest = quantize(self.graph, keep_structure(self.graph, formats), widest(formats))
        reference = self._in_16_bits
        return nearest if reference is None else calibrate_parameters(nearest, reference, self.samples.x)

    @cached_property
    def float_scores(self) -> FloatScores:
        """Outputs of the float network on the samples."""
        return FloatScores.of(self.graph, self.model, self.samples)

    @cached_property
    def _in_16_bits(self) -> QuantizedGraph | None:
        """Return the reference for calibration; None where its accumulators do not fit 32 bits."""
        try:
            nearest = self.nearest(BitWidths.of(self.graph, LONG_BITS))
        except InputError:
            return None
        return calibrate_parameters(nearest, None, self.samples.x)

    def _ranges(self, widths: BitWidths) -> dict[str, Range]:
        return {name: self._clipped[bits][name] for name, bits in widths.values.items()}

    @cached_property
    def _clipped(self) -> dict[int, dict[str, Range]]:
        """The ranges that Q formats of 8 and 16 bits should hold."""
        errors = self._read_errors.items()
        return {bits: {name: error.clipped(bits) for name, error in errors} for bits in (SHORT_BITS, LONG_BITS)}

    @cached_property
    def _best_formats(self) -> dict[str, ValueFormat]:
        return best_formats(self.graph, self._read_errors, self.samples.x)

    @cached_property
    def _read_errors(self) -> dict[str, ReadError]:
        return {name: ReadError.of(self.graph, name, self.statistics) for name in self.graph.value_names}


def _check_size(layer: Layer, size: int) -> None:
    """Raise InputError unless ONNX Runtime computes as many elements as a layer; one that pads has more."""
    if size != layer.out_shape.size and layer.moves is None:
        raise InputError(
            f"layer {layer.name!r} computes {layer.out_shape} elements, but ONNX Runtime {size}: it and ONNX disagree "
            "about an attribute; export the network with explicit sizes and pads"
        )
