"""States of recurrent layers that boards keep: neither in samples nor in results, carried from sample to sample."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from rich.console import Console

from models.onnx_builder import OnnxBuilder, weights
from models.two_inputs import streaming
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import CHUNK, real_outputs, run_integer
from tinysplit.network.layers import Recurrent
from tinysplit.network.onnx_file.kept_states import keep_states
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model

QUIET = Console(quiet=True)
ALL = {"LSTM": {"h0": "hn", "c0": "cn"}, "GRU": {"h0": "hn"}}


def keeping(path: Path, states: dict[str, str]) -> Path:
    """Name the kept states in a network's file."""
    model = onnx.load(path)
    keep_states(model, states)
    onnx.save(model, path)
    return path


def carried(path: Path, x: np.ndarray) -> np.ndarray:
    """Return the first output of ONNX Runtime, which gets the other ones again as states with the next sample."""
    session = onnxruntime.InferenceSession(path)
    first, *others = (each.name for each in session.get_inputs())
    states = {each.name: np.zeros(each.shape, np.float32) for each in session.get_inputs()[1:]}
    found = []
    for sample in x:
        output, *new = session.run(None, {first: sample[np.newaxis], **states})
        states = dict(zip(others, new, strict=True))
        found.append(output[0])
    return np.stack(found)


@pytest.mark.parametrize(("layers", "steps"), [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("operator", ALL)
def test_states_are_kept_by_the_layers(operator: str, layers: int, steps: int, tmp_path: Path) -> None:
    path = streaming(tmp_path, operator, layers, steps)
    x = np.random.default_rng(1).normal(size=(CHUNK + 9, steps, 5)).astype(np.float32)
    expected = carried(path, x)
    graph = import_model(keeping(path, ALL[operator]))
    assert [each.kind for each in graph.layers] == ["recurrent"] * layers + ["dense"]
    assert all(each.keeps_state and len(each.inputs) == 1 for each in graph.layers if isinstance(each, Recurrent))
    assert graph.keeps_state
    assert (graph.sample_shape, graph.output_shape) == ((steps, 5), (3,))
    np.testing.assert_allclose(run_float(path, x), expected, rtol=1e-5, atol=1e-6)
    for bits, least_db in ((8, 25), (16, 50)):
        quantized = quantize_model(graph, path, Samples(x), bits, QUIET).quantized
        error = real_outputs(quantized, run_integer(quantized, x)) - expected
        assert 10 * np.log10((expected**2).sum() / (error**2).sum()) > least_db


def test_a_cell_state_that_grows_saturates_at_64(tmp_path: Path) -> None:
    """Forget gates of 1 and inputs of 1: the cell state counts up, one a sample."""
    b = OnnxBuilder([1, 1, 1], 17)
    b.inputs += [onnx.helper.make_tensor_value_info(name, 1, [1, 1, 1]) for name in ("h0", "c0")]
    large = [20.0, 20.0, 20.0, 20.0, 0.0, 0.0, 0.0, 0.0]
    zeros = b.constant(np.zeros((1, 4, 1)))
    b.node("LSTM", zeros, zeros, b.constant([large]), "", "h0", "c0")
    b.nodes[-1].output.extend(["hn", "cn"])
    b.nodes[-1].attribute.append(onnx.helper.make_attribute("hidden_size", 1))
    b.outputs = [b.value, "hn", "cn"]
    path = keeping(b.save(tmp_path), ALL["LSTM"])
    x = np.zeros((80, 1, 1), np.float32)
    quantized = quantize_model(import_model(path), path, Samples(x), 16, QUIET).quantized
    layer = quantized.layers[0]
    assert isinstance(layer.layer, Recurrent)
    _, (_, cell) = layer.layer.continued(layer, [np.zeros((80, 1, 1, 1), np.int16)])
    assert cell.item() * 2.0 ** -layer.layer.cell_bits(layer.formats.inputs) == pytest.approx(64)


REFUSED = {
    "no such input": ({"h1": "hn"}, "name the input 'h1': there are x, h0, c0"),
    "no such output": ({"h0": "h"}, "name the output 'h': there are value_"),
    "one output twice": ({"h0": "hn", "c0": "hn"}, "the output 'hn' is that of two kept states"),
    "all inputs": ({"h0": "hn", "c0": "cn", "x": "value_9"}, "all inputs are kept states"),
    "another size": (
        {"h0": "hn", "c0": "value_9"},
        "the state 'c0' has 12 elements, but its next value ",
    ),
    "one of two": ({"h0": "hn"}, "begins with several states: keep all of them, or none"),
    "changed over": ({"h0": "cn", "c0": "hn"}, "does not begin with its own last state"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_states_that_cannot_be_kept_are_named(case: str, tmp_path: Path) -> None:
    states, text = REFUSED[case]
    path = streaming(tmp_path)
    model = onnx.load(path)
    renamed = model.graph.output[0].name
    states = {first: renamed if last == "value_9" else last for first, last in states.items()}
    with pytest.raises(InputError) as raised:  # noqa: PT012 - where it is named, or where its layer is known
        keep_states(model, states)
        onnx.save(model, path)
        import_model(path)
    assert text.replace("value_9", renamed) in str(raised.value)


def test_a_state_that_no_recurrent_layer_reads(tmp_path: Path) -> None:
    b = OnnxBuilder([1, 4], 17)
    b.inputs.append(onnx.helper.make_tensor_value_info("before", 1, [1, 4]))
    mixed = b.node("Add", "before")
    b.outputs = [b.node("Gemm", b.constant(weights(4, 3))), mixed]
    path = keeping(b.save(tmp_path), {"before": mixed})
    with pytest.raises(InputError, match="reads the state 'before', which only recurrent layers can keep"):
        import_model(path)
