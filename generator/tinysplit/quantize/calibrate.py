"""A network and what calibration samples say about it, from which it gets fixed-point formats, weights and biases."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import LONG, BitWidths
from tinysplit.network.fixed_point.formats import FloatArray
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats, quantize, widest
from tinysplit.quantize.rounding import compensate, compensate_wide
from tinysplit.quantize.statistics import Range, Statistics
from tinysplit.quantize.value_scales import best_formats


@dataclass(frozen=True, eq=False)
class Quantizer:
    """A float network, samples `x` (N x sample_shape), and the statistics of its values on them."""

    graph: Graph
    statistics: Mapping[str, Statistics]
    x: FloatArray

    def nearest(self, widths: BitWidths) -> QuantizedGraph:
        """Return the network in the formats that lose least, with the nearest integers for weights and biases."""
        formats = choose_formats(
            self.graph,
            self._ranges(widths),
            widths,
            best_formats(self.graph, self.statistics, self.x, widths.values),
        )
        return quantize(self.graph, formats, widest(formats))

    def best(self, widths: BitWidths) -> QuantizedGraph:
        """Return the same with weights and biases that make up for what 8 bits lose, wherever there are any."""
        reference = self._in_16_bits
        if reference is None:
            return self.nearest(widths)
        is_reference = widths == BitWidths.all(self.graph, LONG)
        return reference if is_reference else compensate(self.nearest(widths), reference, self.x)

    @cached_property
    def _in_16_bits(self) -> QuantizedGraph | None:
        """Return what stands for the float network; None where its sums do not fit."""
        try:
            nearest = self.nearest(BitWidths.all(self.graph, LONG))
        except InputError:
            return None
        return compensate_wide(nearest, self.x)

    def _ranges(self, widths: BitWidths) -> dict[str, Range]:
        return {name: self.statistics[name].clipped(bits) for name, bits in widths.values.items()}
