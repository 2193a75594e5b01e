"""A .tflite file from its path to a generated folder."""

from pathlib import Path

import numpy as np

from models.tflite_builder import Quantization, TfliteBuilder
from tinysplit import api
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.float_reference import run_float
from tinysplit.onnx_import import import_model
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project


def test_a_folder_has_the_network_as_onnx(tmp_path: Path) -> None:
    rng, net = np.random.default_rng(4), TfliteBuilder()
    x, y = (
        net.tensor((1, 6, 6, 2), "int8", Quantization([0.1], 5)),
        net.tensor((1, 6, 6, 3), "int8", Quantization([0.2])),
    )
    weights = net.constant(rng.integers(-99, 99, (3, 3, 3, 2)).astype(np.int8), Quantization([0.01, 0.02, 0.03]))
    bias = net.constant(rng.integers(-99, 99, 3).astype(np.int32), Quantization([0.001, 0.002, 0.003]))
    net.operator("CONV_2D", [x, weights, bias], y, "Conv2DOptions", StrideH=1, StrideW=1)
    path, samples = net.save(tmp_path / "net.tflite", [x], [y]), tmp_path / "samples.npz"
    np.savez(samples, x=rng.integers(-128, 128, (4, 6, 6, 2)).astype(np.int8))
    found = api.split(path, ["nucleo_g071rb"])
    api.generate(path, found, samples, tmp_path / "out")
    kept = tmp_path / "out" / "model.onnx"
    (layer,) = read_quantized(tmp_path / "out", Project.read(tmp_path / "out")).layers
    assert isinstance(layer.formats.requantization, TfliteRequantization)
    assert (layer.layer.tflite, layer.formats.requantization.rounding) == ("CONV_2D", "twice")
    real = rng.normal(size=(2, 6, 6, 2)).astype(np.float32)
    assert np.array_equal(run_float(kept, real), run_float(path, real))
    assert import_model(kept).inputs[0].integers == import_model(path).inputs[0].integers
