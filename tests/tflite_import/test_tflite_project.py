"""A .tflite file from its path to a generated folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from models.tflite_builder import Quantization, TfliteBuilder
from tinysplit import api, pipeline
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.float_reference import run_float
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.slices.settings import Search


def network_and_samples(folder: Path, rng: np.random.Generator) -> tuple[Path, Path]:
    """Write a convolution that is rounded twice, and samples."""
    net = TfliteBuilder()
    x, y = (
        net.tensor((1, 6, 6, 2), "int8", Quantization([0.1], 5)),
        net.tensor((1, 6, 6, 3), "int8", Quantization([0.2])),
    )
    weights = net.constant(rng.integers(-99, 99, (3, 3, 3, 2)).astype(np.int8), Quantization([0.01, 0.02, 0.03]))
    bias = net.constant(rng.integers(-99, 99, 3).astype(np.int32), Quantization([0.001, 0.002, 0.003]))
    net.operator("CONV_2D", [x, weights, bias], y, "Conv2DOptions", StrideH=1, StrideW=1)
    samples = folder / "samples.npz"
    np.savez(samples, x=rng.integers(-128, 128, (4, 6, 6, 2)).astype(np.int8))
    return net.save(folder / "net.tflite", [x], [y]), samples


def test_a_folder_has_the_network_as_onnx(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    path, samples = network_and_samples(tmp_path, rng)
    found = api.split(path, ["nucleo_g071rb"])
    api.generate(path, found, samples, tmp_path / "out")
    kept = tmp_path / "out" / "model.onnx"
    (layer,) = read_quantized(tmp_path / "out", Project.read(tmp_path / "out")).layers
    assert isinstance(layer.formats.requantization, TfliteRequantization)
    assert (layer.layer.tflite, layer.formats.requantization.rounding) == ("CONV_2D", "twice")
    real = rng.normal(size=(2, 6, 6, 2)).astype(np.float32)
    assert np.array_equal(run_float(kept, real), run_float(path, real))
    assert import_model(kept).inputs[0].integers == import_model(path).inputs[0].integers


@pytest.mark.parametrize("has_weights_file", [False, True])
def test_programs_whose_weights_may_be_replaced_do_not_follow_from_them(has_weights_file: bool, tmp_path: Path) -> None:
    path, file = network_and_samples(tmp_path, np.random.default_rng(4))
    context = Context.load(path, ("nucleo_l4r5zi",), CostSettings(), Console(quiet=True))
    if has_weights_file:
        context = replace(context, programs=ProgramOptions(weights_counter=1)).for_programs()
    samples = load_samples(file, context.graph)
    joint = pipeline.split_in_mixed_precision(context, Search(), samples, Goal())
    for quantized in (pipeline.quantize_network(context, samples), joint.quantized):
        requantization = quantized.layers[0].formats.requantization
        assert isinstance(requantization, TfliteRequantization)
        assert requantization.is_exchangeable is has_weights_file
