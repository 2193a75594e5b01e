"""The error that the format of a value makes where it is read: in the value itself, or in a function of it.

Look-up tables and clamps are flat over a part of their inputs. Errors do not matter there, so the format of such an
input may saturate there and has finer steps where they do. Pools and other layers without a format of their own pass
the value on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.formats import QFormat, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Layer, Lookup, Pad
from tinysplit.network.quantized_graph import QuantizedLayer
from tinysplit.quantize.statistics import Range, Statistics, decibels

Floats = NDArray[np.float64]
Function = tuple[Layer, ...]  # look-up tables and clamps, one after the other; empty: the value itself

POINTS = 1 << 15  # at which functions are compared
GOLDEN = 0.5 * (5**0.5 - 1)  # multiples of it spread evenly over the bins, and have no period in common with steps
FINER_FORMATS = 24  # tried for functions, from the one that holds the range of the numbers seen on
WIDE_BITS = 32


def functions(graph: Graph, name: str) -> tuple[Function, ...]:
    """Return the different things that readers make of a value, as far as they compute with the result.

    Look-up tables count only where nothing else reads the value: a gate, for one, often reads what it is multiplied by.
    """
    functions = dict.fromkeys(_functions(graph, name))
    others = tuple(function for function in functions if not _is_table(function))
    return others or tuple(functions)


def _functions(graph: Graph, name: str) -> Iterator[Function]:
    readers = [layer for layer in graph.layers if name in layer.inputs]
    for reader in readers:
        if isinstance(reader, Lookup):
            yield (reader,)
        elif reader.keeps_format:
            clamp = () if reader.activation == Activation() else (reader,)
            yield from ((*clamp, *rest) for rest in _functions(graph, reader.output))
        else:
            yield ()
    if not readers:
        yield ()


def _is_table(function: Function) -> bool:
    return bool(function) and isinstance(function[-1], Lookup)


def computed(function: Function, x: Floats) -> Floats:
    """Return a function of `x` (any shape) in float."""
    for layer in function:
        x = layer.real(x) if isinstance(layer, Lookup) else x.clip(layer.activation.low, layer.activation.high)
    return x


@dataclass(frozen=True, eq=False)
class ReadError:
    """The error of formats of a value, relative to the power of what its readers make of it, summed over them.

    `seen` are its statistics. A Pad adds its `constant`, `constants` times, to the values that were seen.
    """

    seen: Statistics
    functions: tuple[Function, ...]
    constant: float = 0.0
    constants: int = 0

    @classmethod
    def of(cls, graph: Graph, name: str, statistics: Mapping[str, Statistics]) -> Self:
        """Return the error of a value, by the statistics of all values."""
        read = functions(graph, name)
        pad = next((layer for layer in graph.layers if layer.output == name), None)
        if not isinstance(pad, Pad):
            return cls(statistics[name], read)
        source = statistics[pad.inputs[0]]  # whose bins are not as wide as a large constant makes them
        return cls(source, read, pad.value, statistics[name].count - source.count)

    @property
    def is_of_value(self) -> bool:
        """Whether the value itself is all that is read."""
        return not any(self.functions)

    @property
    def is_of_tables(self) -> bool:
        """Whether nothing but look-up tables reads the value: to them, zero points cost nothing."""
        return all(map(_is_table, self.functions))

    @property
    def range(self) -> Range:
        """Smallest and largest number of the value, constants and results of clamps included."""
        low, high = self.seen.range
        ends = np.array([low, high, *[self.constant] * bool(self.constants)])
        reached = [ends]
        for function in self.functions:
            clamps = [layer for layer in function if not isinstance(layer, Lookup)]
            reached += [computed(tuple(clamps[: count + 1]), ends) for count in range(len(clamps))]
        return float(min(map(np.min, reached))), float(max(map(np.max, reached)))

    @property
    def halvings(self) -> int:
        """How often the range can be halved until it is about that of the numbers seen, which constants may exceed."""
        whole, seen = (QFormat.for_range(WIDE_BITS, *each).fraction_bits for each in (self.range, self.seen.range))
        return max(seen - whole, 0)

    def __call__(self, values: ValueFormat) -> float:
        """Return the relative mean squared error in this format, with what samples that were not seen may add."""
        beyond = self.seen.error_beyond(values) if () in self.functions else 0.0
        return self._seen(values) + beyond * self.seen.count / self._power

    def sqnr_db(self, values: ValueFormat) -> float:
        """Return the signal to quantization-noise ratio in this format, in dB, of what is read."""
        return decibels(len(self.functions), self._seen(values))

    def clipped(self, bits: int) -> Range:
        """Return the range that the Q format of `bits` bits with the least error holds."""
        if self.is_of_value and not self.constants:
            return self.seen.clipped(bits)
        low, high = self.range
        if not np.isfinite([low, high]).all():
            return low, high
        whole = QFormat.for_range(bits, low, high)
        finer = range(self.halvings + FINER_FORMATS)
        best = min((QFormat(bits, whole.fraction_bits + extra) for extra in finer), key=self)
        return max(low, best.low * best.scale), min(high, best.high * best.scale)

    def _seen(self, values: ValueFormat) -> float:
        return sum(self._of(function, values) for function in self.functions)

    @property
    def _power(self) -> float:
        """The squares of all numbers, added up."""
        seen = self.seen.count * (self.seen.variance + self.seen.mean**2)
        return seen + self.constants * self.constant**2 or 1.0

    def _of(self, function: Function, values: ValueFormat) -> float:
        if not function:
            constant = np.array(self.constant)
            lost = self.constants * float(values.dequantize(values.quantize(constant)) - constant) ** 2
            return (self.seen.count * self.seen.error(values) + lost) / self._power
        exact = computed(function, self._points)
        rounded = _rounded(function, self._points, values, float(np.abs(exact).max(initial=0.0)))
        error, power = ((part**2 * self._counts).sum() for part in (rounded - exact, exact))
        return float(error / (power or 1.0))

    @cached_property
    def _points(self) -> Floats:
        """Numbers that stand for those of the value: several in each bin of the histogram, 0, and the constant."""
        return self._weighted_points[0]

    @cached_property
    def _counts(self) -> Floats:
        return self._weighted_points[1]

    @cached_property
    def _weighted_points(self) -> tuple[Floats, Floats]:
        seen = self.seen
        filled = np.flatnonzero(seen.bins)
        in_bin = max(POINTS // max(filled.size, 1), 1)
        bins = np.repeat(filled, in_bin)
        places = seen.first_bin + bins + np.arange(1, bins.size + 1) * GOLDEN % 1.0
        points = (places * seen.bin_width).clip(*seen.range)
        ends = np.array([0.0, self.constant]), np.array([seen.count - seen.bins.sum(), self.constants])
        points, counts = np.append(points, ends[0]), np.append(seen.bins[bins] / in_bin, ends[1])
        return points[counts > 0], counts[counts > 0]


def _rounded(function: Function, x: Floats, values: ValueFormat, largest: float) -> Floats:
    """Return a function of `x`, up to `largest`, as integers of the format `values` give it, but not rounded."""
    integers = values.quantize(x)
    exact = ValueFormat(WIDE_BITS, (largest or 1.0) * 2.0 ** (2 - WIDE_BITS))
    for layer in function:
        y = exact if isinstance(layer, Lookup) else values
        quantized = QuantizedLayer.of(layer, LayerFormats((values,), y))
        if isinstance(layer, Lookup):
            return y.dequantize(layer.integer_reference(quantized, integers))
        integers = quantized.clamped(integers)
    return values.dequantize(integers)
