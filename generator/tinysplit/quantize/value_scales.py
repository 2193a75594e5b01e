"""Scales of 8-bit values that need not be powers of two, and zero points.

A layer with weights requantizes to any scale of its output: it only changes the scale of its weights. Values between
such layers have the scale with the least error. The network's inputs and outputs, which the host converts, may have a
zero point as well; so may the inputs of fully connected layers, which use each value once per weight. All that costs
nothing. What may cost cycles is optional (`Freedom`): other scales of values that are added or concatenated, for whose
powers of two kernels need only shifts, and other zero points.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinysplit.network.ends import by_name
from tinysplit.network.fixed_point.formats import SMALLEST, FloatArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.joining import Joining
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.pad import Pad
from tinysplit.network.layers.softmax import Softmax
from tinysplit.quantize.read_errors import ReadError

BITS = 8
STEPS = (1 << BITS) - 1  # from the lowest integer to the highest
SHARES = (1.0, 1.05, 1.1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3)  # of a value range, tried in turn
LEAST_RATIO = 0.8  # of the error with a zero point to that without: zero points that bring less are not tried
IN_HALF = 4  # shares from one to half of it where functions of the value are read, as often as the range can be halved
HALVINGS = 16  # of the range of the numbers seen
OFF_GRID = 1e-3  # steps: rounding error of float32


@dataclass(frozen=True)
class Freedom:
    """Values whose formats may cost cycles: `scales` are no powers of two though they are joined."""

    scales: frozenset[str] = frozenset()
    zero_points: frozenset[str] = frozenset()

    def __or__(self, other: "Freedom") -> "Freedom":
        """Return both together."""
        return Freedom(self.scales | other.scales, self.zero_points | other.zero_points)


NO_FREEDOM = Freedom()


@dataclass(frozen=True, eq=False)
class ValueScales:
    """The formats that 8-bit values of a network may have; `x` are the samples of the `errors`."""

    graph: Graph
    errors: Mapping[str, ReadError]
    x: FloatArray

    def formats(self, freedom: Freedom = NO_FREEDOM) -> dict[str, ValueFormat]:
        """Return the formats that need not be Q formats, by name.

        Left out are values that are added or concatenated, without `freedom`, outputs of a softmax, and ranges with NaN
        or infinity.
        """
        zero_points = freedom.zero_points | self._free_zero_points
        kept = self._powers_of_two - freedom.scales
        names = (name for name in self.graph.value_names if name not in kept and _has_range(self.errors[name]))
        return {name: self._with_zero_point(name) if name in zero_points else self._symmetric(name) for name in names}

    def options(self) -> Iterator[Freedom]:
        """Yield what may be free: the scales around a layer that joins values, and the zero points of single values.

        Zero points that hardly change the error of their value are left out.
        """
        graph = self.graph
        for layer in graph.layers:
            if isinstance(layer, Joining):
                sources = {graph.format_source(name) for name in (*layer.inputs, layer.output)}
                yield Freedom(self._powers_of_two.intersection(sources).difference(self._inputs))
        for name in graph.value_names:
            error = self.errors[name]
            if name in self._free_zero_points or graph.format_source(name) != name or not _has_range(error):
                continue
            if error(self._with_zero_point(name)) < LEAST_RATIO * error(self._symmetric(name)):
                yield Freedom(self._powers_of_two & {name}, frozenset({name}))

    def _symmetric(self, name: str) -> ValueFormat:
        return self._found(name, is_symmetric=True)

    def _with_zero_point(self, name: str) -> ValueFormat:
        return self._found(name, is_symmetric=False)

    def _found(self, name: str, *, is_symmetric: bool) -> ValueFormat:
        key = name, is_symmetric
        if key not in self._known:
            on_grid = _on_grid(self._inputs[name]) if name in self._inputs else None
            self._known[key] = on_grid or _least_error(self.errors[name], is_symmetric=is_symmetric)
        return self._known[key]

    @cached_property
    def _inputs(self) -> Mapping[str, FloatArray]:
        return by_name(self.graph.inputs, self.x)

    @cached_property
    def _known(self) -> dict[tuple[str, bool], ValueFormat]:
        return {}

    @cached_property
    def _free_zero_points(self) -> frozenset[str]:
        """The values whose zero points cost no cycles, and outputs of a softmax, which have none."""
        graph, errors = self.graph, self.errors
        of_softmax = {layer.output for layer in graph.layers if isinstance(layer, Softmax)}
        return frozenset(
            name
            for name in graph.value_names
            if name in {*self._inputs, *of_softmax}
            or errors[name].is_of_tables
            or _only_for_vectors(graph, name)
            or (name not in self._powers_of_two and _is_only_output(graph, name))
        )

    @cached_property
    def _powers_of_two(self) -> frozenset[str]:
        return powers_of_two(self.graph)


def _has_range(error: ReadError) -> bool:
    low, high = error.range
    return bool(np.isfinite([low, high]).all()) and max(-low, high) >= SMALLEST


def _is_only_output(graph: Graph, name: str) -> bool:
    """Return whether a value has the format of the network's output, and no layer computes with it."""
    readers = [layer for layer in graph.layers if name in layer.inputs]
    return all(layer.keeps_format and _is_only_output(graph, layer.output) for layer in readers)


def powers_of_two(graph: Graph) -> frozenset[str]:
    """Return the values that keep Q formats, with those that have the same format by their layers' kind."""
    names: set[str] = set()
    for layer in reversed(graph.layers):
        if isinstance(layer, Joining) and not (layer.keeps_integers or isinstance(layer, MatMul)):
            names |= {*layer.inputs, layer.output}
        elif isinstance(layer, Softmax):
            names.add(layer.output)
        elif (layer.keeps_format or isinstance(layer, Pad)) and layer.output in names:
            names |= set(layer.inputs)
    return frozenset(names)


def _only_for_vectors(graph: Graph, name: str) -> bool:
    """Return whether a value is read by layers with a single output pixel only."""
    readers = [layer for layer in graph.layers if name in layer.inputs]
    return bool(readers) and all(_reads_vectors(graph, reader) for reader in readers)


def _reads_vectors(graph: Graph, reader: Layer) -> bool:
    if reader.keeps_format:
        return _only_for_vectors(graph, reader.output)
    return "weights" in reader.parameters and reader.out_shape.height * reader.out_shape.width == 1


def _on_grid(x: FloatArray) -> ValueFormat | None:
    """Return the format that represents `x` exactly, None where it is not a multiple of one step in 8 bits."""
    values = np.unique(np.append(x, 0.0).astype(np.float64))
    if not 2 <= values.size <= STEPS + 1:  # noqa: PLR2004 - zero, and something else
        return None
    step = float(np.diff(values).min())
    places = values / step
    if np.abs(places - np.rint(places)).max() > OFF_GRID or places[-1] - places[0] > STEPS + OFF_GRID:
        return None
    return _from(float(values[0]), step)


def _from(low: float, step: float) -> ValueFormat:
    """Return the format whose lowest integer represents `low`, rounded to a multiple of the step."""
    return ValueFormat.of(BITS, step, -(1 << (BITS - 1)) - round(low / step))


def _least_error(error: ReadError, *, is_symmetric: bool) -> ValueFormat:
    low, high = min(error.range[0], 0.0), max(error.range[1], 0.0)
    of_functions = [2.0 ** (-k / IN_HALF) for k in range(IN_HALF * (error.halvings + HALVINGS))]
    shares = SHARES if error.is_of_value else of_functions
    whole = ValueFormat(BITS, 1.0)
    if is_symmetric:
        step = max(low / whole.low, high / whole.high)
        return min((ValueFormat.of(BITS, share * step) for share in shares), key=error)
    for _ in range(2):  # one end after the other: functions may be flat at one of them alone
        high = min((share * high for share in shares), key=lambda end: error(_over(low, end)))
        low = min((share * low for share in shares), key=lambda end: error(_over(end, high)))
    return _over(low, high)


def _over(low: float, high: float) -> ValueFormat:
    """Return the format whose lowest integer represents `low` and whose highest one `high`."""
    return _from(low, (high - low) / STEPS)
