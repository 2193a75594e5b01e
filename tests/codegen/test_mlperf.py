"""The settings of MLPerf Tiny's protocol: formats of the data sets, and the scale of the results."""

import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from example_folders import example
from models.two_inputs import two_outputs
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.mlperf import DATASETS, Mlperf, render_mlperf_settings
from tinysplit.common.errors import InputError, UsageError
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.project.load import read_quantized
from tinysplit.quantize.quantize_model import quantize_model

BOARD = "nucleo_g071rb"


@pytest.fixture(scope="module", params=[8, 16])
def quantized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> QuantizedGraph:
    folder = tmp_path_factory.mktemp("example") / "out"
    return read_quantized(folder, example.generate_example(folder, BOARD, bits=request.param))


def settings(quantized: QuantizedGraph, model: str, byte_scale: float | None = None) -> str:
    return render_mlperf_settings(quantized, load_board(BOARD), Mlperf(model, byte_scale))


def input_map(text: str) -> list[int]:
    found = re.search(r"input_map\[256\] = \{(.*?)\};", text, re.DOTALL)
    return [int(number) for number in found[1].split(",") if number.strip()] if found else []


@pytest.mark.parametrize("model", sorted(DATASETS))
def test_bytes_of_a_known_data_set_become_inputs(quantized: QuantizedGraph, model: str) -> None:
    table = input_map(settings(quantized, model))
    byte = {"kws01": 83, "ic01": 0, "vww01": 0}[model]  # stands for 0.0
    assert len(table) == 256
    assert table[byte] == quantized.input_formats[0].quantize(np.zeros(1))[0]
    expected = {"kws01": (-1 - 83) * 0.5847029089927673, "ic01": 255.0, "vww01": 1.0}[model]
    assert table[255] == quantized.input_formats[0].quantize(np.array([expected]))[0]


def test_another_scale_of_the_bytes(quantized: QuantizedGraph) -> None:
    assert input_map(settings(quantized, "ic01", 1 / 255)) == input_map(settings(quantized, "vww01"))
    assert input_map(settings(quantized, "mine", 1 / 255)) == input_map(settings(quantized, "vww01"))


def test_other_models_take_the_inputs_own_bytes(quantized: QuantizedGraph) -> None:
    text = settings(quantized, "mine")
    assert "input_map" not in text
    assert f".input_value_bytes = {quantized.bits // 8}," in text


def test_results_are_millionths(quantized: QuantizedGraph) -> None:
    text = settings(quantized, "mine")
    factor, shift = (int(re.search(rf"output_{name} = (\d+)", text)[1]) for name in ("factor", "shift"))  # type: ignore[index]
    assert factor < 2**32
    assert factor / 2**shift == pytest.approx(1e6 * quantized.output_formats[0].scale, rel=1e-8)


@pytest.mark.parametrize("model", ["", "a]", "kws 01", 'a"b'])
def test_a_model_that_cannot_be_served_is_refused(model: str) -> None:
    with pytest.raises(InputError, match="--mlperf-model"):
        Mlperf(model).check(copies=0)


def test_bytes_of_real_values_have_no_scale() -> None:
    with pytest.raises(UsageError, match="leave --mlperf-byte-scale out"):
        Mlperf("ad01", 0.5).check(copies=0)


def test_an_output_that_is_no_reconstruction_is_refused(quantized: QuantizedGraph) -> None:
    with pytest.raises(InputError, match=r"this network's \d+ outputs do not reconstruct its \d+ inputs"):
        settings(quantized, "ad01")


def test_copies_are_refused() -> None:
    with pytest.raises(UsageError, match="serves one"):
        Mlperf("kws01").check(copies=2)


def test_several_outputs_are_refused(tmp_path: Path) -> None:
    model = two_outputs(tmp_path)
    graph = import_model(model)
    x = np.zeros((2, *graph.sample_shape), np.float32)
    several = quantize_model(graph, model, Samples(x), 8, Console(quiet=True)).quantized
    with pytest.raises(InputError, match="network has several inputs or outputs, and --host-protocol mlperf knows one"):
        settings(several, "mine")
