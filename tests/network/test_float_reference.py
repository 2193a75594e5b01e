"""ONNX Runtime as the float reference: outputs and inner values."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from models.onnx_builder import OnnxBuilder, conv, weights
from session.shared_models import KWS, KWS_SAMPLES, shared_model
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float, run_float_values
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model


def network(folder: Path, batch: int | str) -> Path:
    builder = OnnxBuilder([batch, 2, 4, 4])
    conv(builder, 3, 2)
    builder.node("Relu")
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(12, 5)))
    return builder.save(folder)


@pytest.mark.parametrize("batch", [1, "n"])
def test_outputs_and_inner_values(tmp_path: Path, batch: int | str) -> None:
    path = network(tmp_path, batch)
    x = weights(6, 2, 4, 4)
    outputs = run_float(path, x)
    values = run_float_values(path, x, ["value_3", "value_1", "x", "value_1"])
    assert {name: value.shape for name, value in values.items()} == {
        "value_3": (6, 5),
        "value_1": (6, 3, 2, 2),
        "x": (6, 2, 4, 4),
    }
    np.testing.assert_array_equal(values["value_3"], outputs)
    np.testing.assert_array_equal(values["x"], x)
    dense = onnx.numpy_helper.to_array(onnx.load(path).graph.initializer[2])
    np.testing.assert_allclose(values["value_1"].reshape(6, 12) @ dense, outputs, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(run_float(path, x), outputs)


def test_what_onnx_runtime_refuses_is_one_line(tmp_path: Path) -> None:
    path = network(tmp_path, 1)
    for action in (
        lambda: run_float(path, weights(2, 2, 5, 5)),
        lambda: run_float_values(path, weights(2, 2, 4, 4), ["absent"]),
    ):
        with pytest.raises(InputError, match="ONNX Runtime cannot run") as caught:
            action()
        assert "\n" not in str(caught.value)


def test_published_accuracy_of_keyword_spotting() -> None:
    model, samples = shared_model(KWS), shared_model(KWS_SAMPLES)
    labelled = load_samples(samples, import_model(model))
    (labels,) = labelled.labels.values()
    accuracy = np.mean(run_float(model, labelled.x).argmax(axis=1) == labels)
    assert round(float(accuracy), 3) == 0.901
