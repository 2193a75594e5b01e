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
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Layer
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import FloatScores
from tinysplit.quantize.calibrated_parameters import calibrate_parameters
from tinysplit.quantize.choose_formats import keep_structure, quantize, quantize_alike, widest
from tinysplit.quantize.read_errors import ReadError
from tinysplit.quantize.scale_search import NoiseParts, ScaleChoice, TimeLimit, search_scales
from tinysplit.quantize.statistics import Range, Statistics, value_statistics
from tinysplit.quantize.trial_runs import TrialRuns
from tinysplit.quantize.value_scales import NO_FREEDOM, Freedom, ValueScales

MOST_TRIED = 16  # samples on which formats are compared


@dataclass(frozen=True, eq=False)
class Calibration:
    """A float network, calibration samples, and the statistics of its values on them, by ONNX value name."""

    graph: Graph
    model: Path
    samples: Samples
    statistics: Mapping[str, Statistics]
    limit: TimeLimit

    @classmethod
    def of(cls, graph: Graph, model: Path, samples: Samples, messages: Console, limit: TimeLimit | None = None) -> Self:
        """Run the float network on all samples; free scales may take as long as `limit` says, or as usual.

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
        return cls(graph, model, samples, {**every, **sums}, limit or TimeLimit.usual())

    def nearest(self, widths: BitWidths) -> QuantizedGraph:
        """Return the network in the formats of least error, with weights and biases rounded to nearest.

        Raises InputError where no formats keep a layer's accumulators in 32 bits.
        """
        has_short = SHORT_BITS in widths.values.values()
        return self._nearest(widths, self.scales.freedom if has_short else NO_FREEDOM)

    def _nearest(self, widths: BitWidths, freedom: Freedom = NO_FREEDOM) -> QuantizedGraph:
        best = self._value_scales.formats(freedom)
        in_8_bits = {name: values for name, values in best.items() if widths.values[name] == values.bits}
        return quantize_alike(self.graph, self._ranges(widths), widths, in_8_bits, self._fitted)

    def best(self, widths: BitWidths) -> QuantizedGraph:
        """Return the network with calibrated weight rounding and bias correction, where weights have few bits.

        Raises InputError where no formats keep a layer's accumulators in 32 bits.
        """
        if self._in_16_bits is not None and widths == BitWidths.of(self.graph, LONG_BITS):
            return self._in_16_bits
        return self._calibrated(self.nearest(widths))

    def _calibrated(self, nearest: QuantizedGraph) -> QuantizedGraph:
        reference = self._in_16_bits
        return nearest if reference is None else calibrate_parameters(nearest, reference, self.samples.x)

    def in_structure(self, formats: Sequence[LayerFormats]) -> QuantizedGraph:
        """Return the network in the formats of another one, with other scales of weights; else as `best`.

        The errors are those of `keep_structure`.
        """
        nearest = quantize(self.graph, keep_structure(self.graph, formats), widest(formats))
        return self._calibrated(nearest)

    @cached_property
    def float_scores(self) -> FloatScores:
        """Outputs of the float network on the samples."""
        return FloatScores.of(self.graph, self.model, self.samples)

    @cached_property
    def scales(self) -> ScaleChoice:
        """The free scales and zero points of 8-bit values that pay for their cycles; none in networks that have scales.

        Raises InputError where no formats keep a layer's accumulators in 32 bits.
        """
        is_free = self.limit.percent != 0 and not self.graph.qdq_formats
        options = list(self._value_scales.options()) if is_free else []
        if not options or self._in_16_bits is None:
            return ScaleChoice()
        few = self.samples.spread(MOST_TRIED)
        runs = TrialRuns(self._in_16_bits, FloatScores.of(self.graph, self.model, few))
        short, long = (BitWidths.of(self.graph, bits) for bits in (SHORT_BITS, LONG_BITS))
        usual = self._nearest(short).formats
        sources = dict.fromkeys(map(self.graph.format_source, self.graph.value_names))

        def noise(freedom: Freedom, values: BitWidths, weights: BitWidths) -> float:
            return runs.noise(self._nearest(replace(values, weights=weights.weights), freedom))

        of_weights = noise(NO_FREEDOM, long, short)
        of_values = {name: noise(NO_FREEDOM, long.with_value(self.graph, name, SHORT_BITS), long) for name in sources}
        return search_scales(
            options,
            NoiseParts(self._read_errors, usual, of_values, of_weights),
            formats=lambda freedom: {**usual, **self._value_scales.formats(freedom)},
            noise=lambda freedom: noise(freedom, short, long) + of_weights,
            cycles=lambda freedom: self.limit.cycles(self._nearest(short, freedom)),
            limit=self.limit,
        )

    @cached_property
    def _in_16_bits(self) -> QuantizedGraph | None:
        """Return the reference for calibration; None where its accumulators do not fit 32 bits."""
        try:
            nearest = self._nearest(BitWidths.of(self.graph, LONG_BITS))
        except InputError:
            return None
        return calibrate_parameters(nearest, None, self.samples.x)

    @cached_property
    def _fitted(self) -> dict[object, QuantizedLayer]:
        return {}

    def _ranges(self, widths: BitWidths) -> dict[str, Range]:
        return {name: self._clipped[bits][name] for name, bits in widths.values.items()}

    @cached_property
    def _clipped(self) -> dict[int, dict[str, Range]]:
        """The ranges that Q formats of 8 and 16 bits should hold."""
        errors = self._read_errors.items()
        return {bits: {name: error.clipped(bits) for name, error in errors} for bits in (SHORT_BITS, LONG_BITS)}

    @cached_property
    def _value_scales(self) -> ValueScales:
        return ValueScales(self.graph, self._read_errors, self.samples.x)

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
