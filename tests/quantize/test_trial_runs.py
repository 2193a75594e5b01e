"""Networks that differ in few formats: their noise is that of each network alone, and equal layers are run once."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from models.networks import dense
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import quantize_input, run_layers
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.network.samples import Samples
from tinysplit.quantize import trial_runs
from tinysplit.quantize.accuracy import FloatScores, noise_power
from tinysplit.quantize.calibrated_parameters import calibrate_parameters, calibrated_layer
from tinysplit.quantize.choose_formats import quantize_alike
from tinysplit.quantize.trial_runs import TrialRuns

RNG = np.random.default_rng(0)


@pytest.fixture
def graph() -> Graph:
    layers = [dense(RNG.normal(size=(6, 6)), RNG.normal(size=6)) for _ in range(3)]
    names = pairwise(["x", "y", "z", "u"])
    return Graph.of_layers(
        "net", [replace(own, inputs=(x,), output=y) for own, (x, y) in zip(layers, names, strict=True)]
    )


def alone(quantized: QuantizedGraph, reference: QuantizedGraph, floats: FloatScores) -> float:
    """Return the noise of a network that is calibrated and run as a whole."""
    x = floats.samples.x
    better = calibrate_parameters(quantized, reference, x)
    return noise_power(better, dict(enumerate(run_layers(better, quantize_input(better, x)))), floats)


def test_noise_is_that_of_each_network_alone(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG.normal(size=(8, 1, 1, 6)).astype(np.float32)
    values = x.reshape(8, 6)
    for layer in graph.layers:
        values = values @ layer.parameters["weights"].T + layer.parameters["bias"]
    floats = FloatScores(Samples(x, {}), {graph.outputs[0].name: values.astype(np.float64)})
    ranges = dict.fromkeys(graph.value_names, (-64.0, 64.0))
    fitted: dict[object, QuantizedLayer] = {}
    long, short = (BitWidths.of(graph, bits) for bits in (16, 8))
    reference = quantize_alike(graph, ranges, long, {}, fitted)
    widths = [long, *(long.with_value(graph, name, 8) for name in graph.value_names), short]
    networks = [quantize_alike(graph, ranges, own, {}, fitted) for own in widths]
    calibrated: list[QuantizedLayer] = []

    def counted(layer: QuantizedLayer, *inputs: object) -> QuantizedLayer:
        calibrated.append(layer)
        return calibrated_layer(layer, *inputs)  # type: ignore[arg-type]

    monkeypatch.setattr(trial_runs, "calibrated_layer", counted)
    runs = TrialRuns(reference, floats)
    for network in networks:
        assert runs.noise(network) == alone(network, reference, floats)
    assert runs.noise(networks[0]) < runs.noise(networks[-1])
    calibrated.clear()
    last = long.with_value(graph, graph.layers[-1].output, 8)
    for own in (long, last, last):
        runs.noise(quantize_alike(graph, ranges, own, {}, fitted))
    assert len(calibrated) == len(graph.layers) + 1  # the last layer alone has another format then
