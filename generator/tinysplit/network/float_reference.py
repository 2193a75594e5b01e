"""The float network in ONNX Runtime: the reference for accuracy, and the source of value ranges.

Samples run one by one on one thread: models with a fixed batch run like those with a symbolic one, and two runs give
the same bits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.onnx_file.float_network import as_float_network
from tinysplit.network.onnx_file.kept_states import kept_states
from tinysplit.network.onnx_file.living_nodes import keep_living_nodes, sort_nodes
from tinysplit.network.onnx_file.model_source import load_source
from tinysplit.network.onnx_session import open_session

Floats = NDArray[np.float32]
Values = NDArray[np.floating]
Pairs = Mapping[
    str, ValueFormat
]  # the formats of a quantized (QDQ) network, by the names of the values before the pairs
TYPES = {"tensor(float16)": np.float16, "tensor(double)": np.float64}  # of inputs
NO_PAIRS: Pairs = MappingProxyType({})


def run_float(model: Path, x: Floats) -> Floats:
    """Return the network's results (N x output_shape) for samples `x` (N x sample_shape).

    Raises InputError when ONNX Runtime cannot run the model on them.
    """
    session, states = _session(model, ())
    names = [output.name for output in session.get_outputs() if output.name not in states.values()]
    values = run_float_values(model, x, names)
    if len(names) == 1:
        return values[names[0]]
    return np.concatenate([values[name].reshape(len(x), -1) for name in names], axis=1)


def run_float_values(model: Path, x: Floats, names: Iterable[str], pairs: Pairs = NO_PAIRS) -> dict[str, Values]:
    """Return the named values of the model, each N x its shape without the batch, for samples `x`.

    Those with one of `pairs` are the values behind it, which the integers stand for: rounded, and clamped where the
    pair stands for a ReLU.
    """
    wanted = tuple(dict.fromkeys(names))
    runs = list(run_samples(model, x, wanted, pairs))
    return {name: np.stack([_without_batch(run[i]) for run in runs]) for i, name in enumerate(wanted)}


def run_samples(model: Path, x: Floats, names: Sequence[str], pairs: Pairs = NO_PAIRS) -> Iterator[list[Values]]:
    """Yield the named values (inputs of the network among them, if named) of one sample after the other.

    `pairs` are those of `run_float_values`. States that are kept are 0 before the first sample, and not in `x`.
    Raises InputError if ONNX Runtime cannot run the model.
    """
    session, kept = _session(model, names)
    inputs = session.get_inputs()
    types = {value.name: TYPES.get(value.type, np.float32) for value in inputs}
    computed = list(dict.fromkeys(name for name in (*names, *kept.values()) if name not in types))
    states = {value.name: np.zeros(value.shape, np.float32) for value in inputs if value.name in kept}
    for sample in np.ascontiguousarray(x, np.float32):
        given = _inputs(sample, [(value.name, value.shape) for value in inputs if value.name not in kept]) | states
        try:
            cast = {name: value.astype(types[name]) for name, value in given.items()}
            results = session.run(computed, cast) if computed else []
        except Exception as error:  # noqa: BLE001 - ONNX Runtime's errors derive from nothing more specific
            raise _refused(model, error) from None
        floats = (each.astype(np.float32) if each.dtype == bool else each for each in results)
        values = dict(zip(computed, floats, strict=True)) | given
        states = {name: values[kept[name]].reshape(state.shape) for name, state in states.items()}
        yield [_behind_pair(values[name], pairs[name]) if name in pairs else values[name] for name in names]


def _inputs(sample: Floats, inputs: Sequence[tuple[str, Sequence[int]]]) -> dict[str, Floats]:
    """Return what each input (its name and its shape) gets of a sample, which has several side by side."""
    if len(inputs) == 1:
        return {inputs[0][0]: sample[np.newaxis]}
    ends = list(accumulate(prod(shape[1:]) for _, shape in inputs))[:-1]
    pieces = np.split(sample, ends)
    return {name: piece.reshape(1, *shape[1:]) for (name, shape), piece in zip(inputs, pieces, strict=True)}


def _behind_pair(value: Floats, pair: ValueFormat) -> Values:
    """Return what QuantizeLinear and DequantizeLinear make of a value, by ONNX's definition: halves to even."""
    limits = pair.low - pair.zero_point, pair.high - pair.zero_point
    with np.errstate(over="ignore"):  # infinite numbers of steps saturate, too
        steps: Values = np.clip(np.rint(value / np.float32(pair.scale)), *limits).astype(np.float64)
    return steps * pair.scale


def _session(model: Path, names: Sequence[str]) -> tuple[onnxruntime.InferenceSession, Mapping[str, str]]:
    """Open the model with `names` as additional outputs, and return the outputs that are kept as states, by input."""
    proto = load_source(model)
    states = kept_states(proto)
    sort_nodes(proto)
    as_float_network(proto)
    present = {value.name for value in (*proto.graph.output, *proto.graph.input)}
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in names if n not in present)
    keep_living_nodes(proto)
    try:
        return open_session(proto), states
    except Exception as error:  # noqa: BLE001 - ONNX Runtime's errors derive from nothing more specific
        raise _refused(model, error) from None


def _refused(model: Path, error: Exception) -> InputError:
    return InputError(f"ONNX Runtime cannot run {model}: {one_line(error)}")


def _without_batch(value: Values) -> Values:
    return value[0] if value.shape[:1] == (1,) else value
