"""Scales of 8-bit values that need not be powers of two, where they cost nothing at run time.

A layer with weights requantizes to any scale of its output: it only changes the scale of its weights. Values between
such layers have the scale with the least error. Values that are added or concatenated keep powers of
two, for which kernels need only shifts. The network's inputs, which the host quantizes, may have a zero point as well;
so may the inputs of fully connected layers, which use each value once per weight.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from tinysplit.network.ends import by_name
from tinysplit.network.fixed_point.formats import FloatArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.joining import Joining
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.pad import Pad
from tinysplit.network.layers.softmax import Softmax
from tinysplit.quantize.read_errors import ReadError

BITS = 8
STEPS = (1 << BITS) - 1  # from the lowest integer to the highest
SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3)  # of a value range, tried in turn
IN_HALF = 4  # shares from one to half of it where functions of the value are read, as often as the range can be halved
HALVINGS = 16  # of the range of the numbers seen
OFF_GRID = 1e-3  # steps: rounding error of float32


def best_formats(graph: Graph, errors: Mapping[str, ReadError], x: FloatArray) -> dict[str, ValueFormat]:
    """Return the formats of 8-bit values that need not be Q formats, by name; `x` are the samples of the `errors`.

    Left out are values that are added or concatenated, outputs of a softmax, and ranges with NaN or infinity.
    """
    powers_of_two, inputs = set(_powers_of_two(graph)), by_name(graph.inputs, x)
    formats = {}
    for name in graph.value_names:
        error = errors[name]
        low, high = error.range
        if name in powers_of_two or not np.isfinite([low, high]).all() or low == high == 0:
            continue
        if name in inputs:
            formats[name] = _on_grid(inputs[name]) or _least_error(error, is_symmetric=False)
        else:
            has_zero_point = error.is_of_tables or (low >= 0 and _only_for_vectors(graph, name))
            formats[name] = _least_error(error, is_symmetric=not has_zero_point)
    return formats


def _powers_of_two(graph: Graph) -> Iterator[str]:
    """Yield the values that keep Q formats, with those that have the same format by their layers' kind."""
    names: set[str] = set()
    for layer in reversed(graph.layers):
        if isinstance(layer, Joining) and not (layer.keeps_integers or isinstance(layer, MatMul)):
            names |= {*layer.inputs, layer.output}
        elif isinstance(layer, Softmax):
            names.add(layer.output)
        elif (layer.keeps_format or isinstance(layer, Pad)) and layer.output in names:
            names |= set(layer.inputs)
    yield from names


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
    if error.is_of_value:
        return min((_over(share * low, share * high) for share in shares), key=error)
    for _ in range(2):  # one end after the other: functions may be flat at one of them alone
        high = min((share * high for share in shares), key=lambda end: error(_over(low, end)))
        low = min((share * low for share in shares), key=lambda end: error(_over(end, high)))
    return _over(low, high)


def _over(low: float, high: float) -> ValueFormat:
    """Return the format whose lowest integer represents `low` and whose highest one `high`."""
    return _from(low, (high - low) / STEPS)
