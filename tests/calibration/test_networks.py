"""The networks of the calibration, which other processes measure."""

import pickle

import numpy as np
import pytest

from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.calibration.tflite_networks import tflite_networks
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Lookup
from tinysplit_hil.calibration.calibrate import all_networks

WITH_FUNCTIONS = [each for each in all_networks() if any(isinstance(layer, Lookup) for layer in each.layers)]


@pytest.mark.parametrize("number", range(len(WITH_FUNCTIONS)))
def test_functions_go_to_other_processes(number: int) -> None:
    graph = WITH_FUNCTIONS[number]
    sent = pickle.loads(pickle.dumps(graph))  # noqa: S301 (our own bytes)
    tables = [
        [layer.constants["table"] for layer in quantize_randomly(each, 8)[0].layers if layer.layer.kind == "lookup"]
        for each in (graph, sent)
    ]
    assert tables[0]
    for here, there in zip(*tables, strict=True):
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("graph", tflite_networks(), ids=lambda graph: graph.name)
def test_tflite_networks_round_all_their_sums_as_tensorflow_lite(graph: Graph) -> None:
    quantized, _ = quantize_randomly(graph, 8)
    weighted = [layer for layer in quantized.layers if layer.parameters]
    rounded = [layer for layer in weighted if isinstance(layer.formats.requantization, TfliteRequantization)]
    assert [layer.layer.name for layer in rounded] == [layer.layer.name for layer in weighted]
