"""What `tinysplit quantize --report` prints of values, weights and their channels, against counts by hand."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from kernel_cases.layer_cases import one_layer_graph
from tinysplit.network.layers import Dense, Shape
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats, quantize
from tinysplit.quantize.statistics import Statistics
from tinysplit.quantize.statistics_report import channel_statistics, channels_sqnr_db, print_ranges, weights_sqnr_db

WEIGHTS = np.array([[0.5, -0.25, 0.125], [4.0, 2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1 / 3]], np.float32)
VALUES = np.array([[[-1.0, 0.5, 0.25]], [[0.5, 0.5, -0.25]]])  # two samples of three channels


def network() -> QuantizedGraph:
    layer = Dense(
        name="fc", inputs=("x",), output="y", in_shape=Shape(1, 1, 3), weights=WEIGHTS, bias=np.zeros(4, np.float32)
    )
    graph = one_layer_graph(layer)
    return quantize(graph, choose_formats(graph, {"x": (-1.0, 1.0), "y": (-7.0, 7.0)}, 8), 8)


def statistics() -> dict[str, Statistics]:
    x, y = Statistics.of(VALUES), Statistics.of(VALUES @ WEIGHTS.T)
    object.__setattr__(x, "extremes", np.stack([VALUES.min(axis=0), VALUES.max(axis=0)]))
    return {"x": x, "y": y}


@pytest.fixture(params=[80, 100, 160])
def lines(request: pytest.FixtureRequest) -> list[str]:
    text = StringIO()
    print_ranges(network(), statistics(), Console(file=text, width=request.param))
    assert "…" not in text.getvalue()
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_every_value_and_all_weights_have_a_line(lines: list[str]) -> None:
    assert [line.split("  ")[0] for line in lines[1:4]] == ["input", "output of 1", "weights of 1"]
    assert lines[1].split()[2:5] == ["-1", "0.5", "0.0833"]
    assert lines[3].split()[3:7] == ["8", "bits", "-1", "4"]


def test_channels_have_their_spread_and_their_extremes(lines: list[str]) -> None:
    spread = lines.index("Largest magnitude per channel:")
    assert lines[spread + 1].split() == ["tensor", "channels", "min", "25", "%", "median", "75", "%", "max"]
    assert lines[spread + 2].split() == ["input", "3", "0.25", "0.375", "0.5", "0.75", "1"]
    assert lines[spread + 3].split() == ["weights", "of", "1", "4", "0", "0.375", "0.75", "1.75", "4"]
    least, most = lines[-2:]
    assert least.split()[:6] == ["1:", "3", "(min)", "0", "0", "0"]
    assert most.split()[:7] == ["1:", "2", "(max)", "-1", "4", "1.67", "4.22"]
    assert most.endswith("█")


def test_channels_are_analysed_one_by_one() -> None:
    [layer] = network().layers
    first, *_ = channels = channel_statistics(layer)
    assert [channel.maximum for channel in channels] == [0.5, 4.0, 0.0, 1.0]
    assert first.bins.sum() == WEIGHTS.shape[1]
    assert len(first.bins) <= 2 * 16 + 1
    steps = layer.formats.weight_scales[3]
    noise = float(((np.round(WEIGHTS[3] / steps) * steps - WEIGHTS[3]) ** 2).sum())
    assert channels_sqnr_db(layer)[3] == pytest.approx(10 * np.log10((WEIGHTS[3] ** 2).sum() / noise), abs=1e-3)
    assert channels_sqnr_db(layer)[2] == np.inf
    assert 20 < weights_sqnr_db(layer) < 80
