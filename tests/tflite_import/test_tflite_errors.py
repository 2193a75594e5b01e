""".tflite files that cannot be imported, and files of other formats: one line each."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from models.tflite_builder import Quantization, TfliteBuilder
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.onnx_import import import_model


def dense(path: Path, version: int = 3) -> Path:
    """Write a fully connected layer of int8."""
    net = TfliteBuilder()
    x, y = net.tensor((1, 3), "int8", Quantization([0.5], 1)), net.tensor((1, 2), "int8", Quantization([0.25], -2))
    stored = net.constant(np.array([[1, 2, 3], [-4, 5, -6]], np.int8), Quantization([0.125]))
    bias = net.constant(np.array([16, -32], np.int32), Quantization([0.0625]))
    net.operator("FULLY_CONNECTED", [x, stored, bias], y, "FullyConnectedOptions", FusedActivationFunction=1)
    return net.save(path, [x], [y], version)


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        import_model(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_integers_are_those_of_the_definition(tmp_path: Path) -> None:
    path = dense(tmp_path / "net.tflite")
    graph = import_model(path)
    integers = graph.inputs[0].integers
    assert integers is not None
    assert (integers.dtype, integers.scale, integers.zero_point) == ("int8", 0.5, 1)
    x = np.array([[5, 9, -3], [-7, 1, 33]], np.int8)
    real = (x - 1) * 0.5
    sums = real @ (np.array([[1, 2, 3], [-4, 5, -6]]) * 0.125).T + np.array([1, -2])
    expected = np.clip(np.rint(np.maximum(sums, 0) / 0.25) - 2, -128, 127)
    assert np.array_equal(run_float(path, real.astype(np.float32)) / 0.25 - 2, expected)


def test_every_truncated_file_is_refused(tmp_path: Path) -> None:
    whole = dense(tmp_path / "net.tflite").read_bytes()
    cut = tmp_path / "cut.tflite"
    for size in range(0, len(whole) - 4, 7):
        cut.write_bytes(whole[:size])
        assert str(cut) in refusal(cut)


def test_constants_of_another_size_than_their_shape_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    net = TfliteBuilder()
    x, y = net.tensor((1, 3), "float32"), net.tensor((1, 2), "float32")
    weights = net.constant(np.ones((2, 3), np.float32))
    net.operator("FULLY_CONNECTED", [x, weights], y, "FullyConnectedOptions")
    whole = net.save(path, [x], [y]).read_bytes()
    shape = np.array([2, 3], "<i4").tobytes()
    assert whole.count(shape) == 1
    path.write_bytes(whole.replace(shape, np.array([2, 4], "<i4").tobytes()))
    assert "is a damaged .tflite file: convert the network again" in refusal(path)


def test_damaged_bytes_never_end_in_a_traceback(tmp_path: Path) -> None:
    whole, rng = dense(tmp_path / "net.tflite").read_bytes(), np.random.default_rng(2)
    path = tmp_path / "damaged.tflite"
    for _ in range(200):
        damaged = bytearray(whole)
        for position in rng.integers(8, len(whole), 3):
            damaged[position] = rng.integers(256)
        path.write_bytes(damaged)
        with suppress(InputError):
            import_model(path)


def test_other_versions_and_contents_are_refused(tmp_path: Path) -> None:
    assert "has version 4 of TensorFlow Lite's schema: only 3 is known" in refusal(dense(tmp_path / "net.tflite", 4))
    text = tmp_path / "text.tflite"
    text.write_text("no network at all")
    assert refusal(text) == f"{text} is no .tflite file: it lacks the identifier TFL3"


def test_all_operators_without_a_translation_are_named(tmp_path: Path) -> None:
    net = TfliteBuilder()
    x, a, b, y = (net.tensor((1, 4)) for _ in range(4))
    net.operator("L2_NORMALIZATION", [x], a)
    net.operator("RELU", [a], b)
    net.operator("SVDF", [b], y)
    path = net.save(tmp_path / "net.tflite", [x], [y])
    assert "L2_NORMALIZATION 0, SVDF 2: not supported" in refusal(path)


def test_what_contradicts_itself_is_named(tmp_path: Path) -> None:
    net = TfliteBuilder()
    x, y = net.tensor((1, 4)), net.tensor((1, 4))
    net.operator("SOFTMAX", [x], y)
    path = net.save(tmp_path / "net.tflite", [x], [y])
    assert "SOFTMAX 0: options and tensors that contradict each other" in refusal(path)


@pytest.mark.parametrize(
    ("name", "command"),
    [("net.keras", "tf2onnx"), ("net.H5", "tf2onnx"), ("net.pt", "torch.onnx"), ("net.pth", "torch")],
)
def test_files_of_trainers_are_refused_with_the_export_command(name: str, command: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"contents")
    assert command in refusal(path)


def test_a_saved_model_is_refused_with_the_export_command(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert "tf2onnx.convert --saved-model" in refusal(tmp_path)
