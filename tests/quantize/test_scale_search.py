from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.formats import QFormat, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import Add, Shape
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.scale_search import TimeLimit
from tinysplit.quantize.statistics import Statistics

X = np.random.default_rng(0).normal(size=(40, 3, 8, 8)).astype(np.float32)
CORES = ("cortex-m0", "cortex-m0plus", "cortex-m4", "cortex-m7")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    builder = OnnxBuilder([1, 3, 8, 8])
    conv(builder, 8, 3, (3, 3), name="first", pads=[1, 1, 1, 1])
    left = builder.node("Relu", name="left")
    for number in range(3):
        conv(builder, 8, 8, (3, 3), name=f"conv{number}", pads=[1, 1, 1, 1])
        builder.node("Add", left, name=f"sum{number}")
        left = builder.node("Relu", name=f"relu{number}")
    builder.node("GlobalAveragePool", name="average")
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(5, 8)), builder.constant(weights(5)), transB=1, name="fc")
    return builder.save(tmp_path)


def calibration(model: Path, percent: float, *cores: str) -> Calibration:
    limit = TimeLimit(shipped_table(), cores or ("cortex-m4",), percent)
    return Calibration.of(import_model(model), model, Samples(X[:20]), Console(quiet=True), limit)


def sums(own: Calibration) -> list[LayerFormats]:
    found = own.best(BitWidths.all(own.graph, 8))
    return [each.formats for each in found.layers if isinstance(each.layer, Add)]


def test_without_time_joined_values_keep_powers_of_two(model: Path) -> None:
    own = calibration(model, 0)
    assert all(isinstance(each, QFormat) for formats in sums(own) for each in (*formats.inputs, formats.y))
    assert own.scales.line(own.limit) == "free scales and zero points that cost cycles: none"


def test_free_scales_are_more_accurate_on_samples_that_were_not_seen(model: Path) -> None:
    found = [calibration(model, percent) for percent in (0, 30)]
    assert any(not isinstance(each, QFormat) for formats in sums(found[1]) for each in (*formats.inputs, formats.y))
    floats = FloatScores.of(found[0].graph, model, Samples(X[20:]))
    widths = BitWidths.all(found[0].graph, 8)
    usual, free = (Accuracy.of(own.best(widths), floats).sqnr_db for own in found)
    assert free > usual + 0.5
    assert f"{found[1].scales.percent:+.1f} % predicted cycles (cortex-m4)" in found[1].scales.line(found[1].limit)


@pytest.mark.parametrize("percent", [0.5, 2.0, 8.0])
def test_the_limit_holds_on_every_core(model: Path, percent: float) -> None:
    own, usual = calibration(model, percent, *CORES), calibration(model, 0, *CORES)
    widths = BitWidths.all(own.graph, 8)
    cycles, least = (own.limit.cycles(each.nearest(widths)) for each in (own, usual))
    assert all(found <= (1 + percent / 100) * before for found, before in zip(cycles, least, strict=True))


def test_widths_of_16_bits_search_nothing(model: Path) -> None:
    own = calibration(model, 5)
    own.best(BitWidths.of(own.graph, 16))
    assert "scales" not in vars(own)


def of_samples(largest: NDArray[np.float64]) -> Statistics:
    every = [
        replace(Statistics.of(np.array([-1.0, 0.0, each])), of_samples=np.array([[-1.0, each]])) for each in largest
    ]
    total = every[0]
    for each in every[1:]:
        total = total + each
    return total


def test_clipping_beyond_the_samples_is_that_of_an_exponential_tail() -> None:
    seen = of_samples(np.random.default_rng(0).exponential(size=4000) + 1)
    others = np.random.default_rng(1).exponential(size=400_000) + 1
    for limit in (4.0, 6.0, 8.0):
        expected = (np.maximum(others - limit, 0) ** 2).mean() / 3  # numbers of a sample
        found = seen.error_beyond(ValueFormat(8, limit / 127))
        assert 0.05 * expected < found < 0.2 * expected  # a tenth of it counts


def test_ends_that_all_samples_reach_and_few_samples_have_no_tail() -> None:
    assert of_samples(np.full(20, 3.0)).error_beyond(ValueFormat(8, 3 / 127)) == 0
    assert of_samples(np.array([1.0, 2.0, 9.0])).error_beyond(ValueFormat(8, 3 / 127)) == 0


def test_sums_of_mixed_widths_fit_32_bits() -> None:
    layer = Add(
        name="sum", inputs=("a", "b"), output="y", in_shape=Shape(1, 1, 4), other_shapes=(Shape(1, 1, 4),), signs=(1, 1)
    )
    inputs = (ValueFormat(8, 2.0**20), ValueFormat(16, 2.0**4))
    y = layer.output_format(inputs, ValueFormat(8, 2.0**-8))
    assert layer.alignment(LayerFormats(inputs, y)).shift >= 0
