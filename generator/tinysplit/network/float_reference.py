"""The float network in ONNX Runtime: the reference for accuracy, and the source of value ranges.

Samples run one by one on one thread: models with a fixed batch run like those with a symbolic one, and two runs give
the same bits.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.living_nodes import keep_living_nodes
from tinysplit.network.onnx_session import open_session

Floats = NDArray[np.float32]


def run_float(model: Path, x: Floats) -> Floats:
    """Return the network's output (N x output_shape) for samples `x` (N x sample_shape).

    Raises InputError when ONNX Runtime cannot run the model on them.
    """
    session = _session(model, ())
    (name,) = (output.name for output in session.get_outputs())
    return run_float_values(model, x, (name,))[name]


def run_float_values(model: Path, x: Floats, names: Iterable[str]) -> dict[str, Floats]:
    """Return the named values of the model, each N x its shape without the batch, for samples `x`."""
    wanted = tuple(dict.fromkeys(names))
    runs = list(run_samples(model, x, wanted))
    return {name: np.stack([_without_batch(run[i]) for run in runs]) for i, name in enumerate(wanted)}


def run_samples(model: Path, x: Floats, names: Sequence[str]) -> Iterator[list[Floats]]:
    """Yield the named values (the network's input among them, if named) of one sample after the other.

    Raises InputError if ONNX Runtime cannot run the model.
    """
    session = _session(model, names)
    (input_name,) = (value.name for value in session.get_inputs())
    computed = [name for name in names if name != input_name]
    for sample in np.ascontiguousarray(x, np.float32):
        try:
            results = session.run(computed, {input_name: sample[np.newaxis]}) if computed else []
        except Exception as error:  # noqa: BLE001 - ONNX Runtime's errors derive from nothing more specific
            raise _refused(model, error) from None
        values = dict(zip(computed, results, strict=True)) | {input_name: sample[np.newaxis]}
        yield [values[name] for name in names]


def _session(model: Path, names: Sequence[str]) -> onnxruntime.InferenceSession:
    """Open the model with `names` as additional outputs."""
    proto = onnx.load(model)
    present = {value.name for value in (*proto.graph.output, *proto.graph.input)}
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in names if n not in present)
    keep_living_nodes(proto)
    try:
        return open_session(proto)
    except Exception as error:  # noqa: BLE001 - ONNX Runtime's errors derive from nothing more specific
        raise _refused(model, error) from None


def _refused(model: Path, error: Exception) -> InputError:
    return InputError(f"ONNX Runtime cannot run {model}: {one_line(error)}")


def _without_batch(value: Floats) -> Floats:
    return value[0] if value.shape[:1] == (1,) else value
