from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_cases.layer_cases import quantize_one
from models.networks import dense
from models.onnx_builder import OnnxBuilder, conv
from models.value_ranges import clipped_ranges
from session.shared_models import KWS, KWS_SAMPLES, shared_model
from tinysplit.network.fixed_point.formats import QFormat
from tinysplit.network.integer_reference import run_integer
from tinysplit.onnx_import import import_model
from tinysplit.quantize import statistics
from tinysplit.quantize.choose_formats import choose_formats, quantize
from tinysplit.quantize.statistics import Statistics, value_statistics

floats = st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=50)


@given(floats, floats)
def test_statistics_of_parts_are_those_of_the_whole(left: list[float], right: list[float]) -> None:
    whole = np.array(left + right)
    together = Statistics.of(np.array(left)) + Statistics.of(np.array(right))
    assert together.count == whole.size
    assert together.range == (whole.min(), whole.max())
    assert together.mean == pytest.approx(whole.mean(), abs=1e-6)
    assert together.variance == pytest.approx(whole.var(), rel=1e-6, abs=1e-6)
    assert together.bins.sum() == np.count_nonzero(whole)


def test_samples_that_are_counted_together_give_what_each_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = OnnxBuilder([1, 3, 5, 5])
    conv(builder, 4, 3, (1, 1), name="first")
    builder.node("Relu", name="positive")
    model = builder.save(tmp_path)
    x = np.random.default_rng(0).normal(size=(7, 3, 5, 5)).astype(np.float32)
    names = import_model(model).value_names
    together = value_statistics(model, names, x)
    for numbers in (1, 3 * sum(each.count // len(x) for each in together.values())):  # one sample, and three
        monkeypatch.setattr(statistics, "MOST_NUMBERS", numbers)
        for name, found in value_statistics(model, names, x).items():
            expected = together[name]
            assert (found.count, found.range) == (expected.count, expected.range)
            assert (found.mean, found.variance) == pytest.approx((expected.mean, expected.variance))
            assert (found.bin_width, found.first_bin) == (expected.bin_width, expected.first_bin)
            np.testing.assert_array_equal(found.bins, expected.bins)
            np.testing.assert_array_equal(found.extremes, expected.extremes)
            np.testing.assert_array_equal(found.of_samples, expected.of_samples)
    assert together[names[0]].of_samples == pytest.approx(np.stack([x.min((1, 2, 3)), x.max((1, 2, 3))], axis=1))


def test_bins_count_what_lies_in_them() -> None:
    found = Statistics.of(np.array([0.0, 0.25, 0.25, -0.5, 1.0]))
    starts = (found.first_bin + np.arange(len(found.bins))) * found.bin_width
    assert {float(s): int(n) for s, n in zip(starts, found.bins, strict=True) if n} == {-0.5: 1, 0.25: 2, 1.0: 1}


def test_the_estimated_error_is_the_measured_one() -> None:
    values = np.random.default_rng(0).laplace(size=100_000)
    found = Statistics.of(values)
    for fraction_bits in range(3, 8):
        q = QFormat(8, fraction_bits)
        measured = np.mean((q.dequantize(q.quantize(values)) - values) ** 2)
        assert found.error(q) == pytest.approx(measured, rel=0.05)


def test_rare_tails_are_clipped_and_full_ranges_are_not() -> None:
    rng = np.random.default_rng(0)
    tails = Statistics.of(np.append(rng.normal(size=100_000), [20.0, -20.0]))
    assert tails.best_format(8) == QFormat(8, 3)
    assert QFormat.for_range(8, *tails.clipped(8)) == QFormat(8, 3)
    flat = Statistics.of(rng.uniform(-1, 0.99, 10_000))
    assert flat.clipped(8) == flat.range
    assert tails.clipped(16) == tails.range


def test_numbers_that_are_none_are_kept_for_the_message() -> None:
    found = Statistics.of(np.array([0.0, 1.0])) + Statistics.of(np.array([np.nan, 1.0]))
    assert np.isnan(found.clipped(8)).any()


def test_a_weight_far_off_saturates_where_that_serves_the_others() -> None:
    weights = np.random.default_rng(0).normal(size=(1, 20_000)) * 0.01
    weights[0, 0] = 0.2
    step = quantize_one(dense(weights, [0.0]), (-1.0, 1.0), (-64.0, 64.0), 8).formats.weight_scales[0]
    assert step < 0.2 / 127


def test_keyword_spotting_in_8_bits_is_as_good_as_float() -> None:
    model, samples = shared_model(KWS), shared_model(KWS_SAMPLES)
    graph = import_model(model)
    with np.load(samples) as file:
        x, labels = file["x"], file["y"]
    found = value_statistics(Path(model), graph.value_names, x[:100])
    for bits, lowest in ((8, 0.900), (16, 0.901)):
        quantized = quantize(graph, choose_formats(graph, clipped_ranges(found, bits), bits), bits)
        assert np.mean(run_integer(quantized, x).argmax(axis=1) == labels) >= lowest
