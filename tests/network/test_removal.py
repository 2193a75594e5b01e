"""Networks without the channels that they can lack compute the same integers, and bounds of channels hold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_folders.example import MODEL as TINY_CNN
from models.distributed_networks import all_outputs, networks, quantizations, quantized_randomly, random_inputs
from session.profiles import cases
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Conv, DepthwiseConv, Layer, Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.removal.channel_bounds import channel_bounds
from tinysplit.network.removal.cropped_maps import cropped
from tinysplit.network.removal.reduced_network import reduced_graph, reduced_network
from tinysplit.network.removal.removable_channels import removable_channels
from tinysplit.onnx_import import import_model

CASES = cases(quick=40, full=200, nightly=5000)
LOW, ZERO = range(2)  # channels far below a ReLU, and without weights


def damaged(graph: Graph, seed: int, share: float = 0.5) -> Graph:
    """Return a network in which a share of the channels of convolutions is constant, or is not read."""
    rng = np.random.default_rng(seed)
    return replace(graph, layers=tuple(_damaged(layer, rng, share) for layer in graph.layers))


def _damaged(layer: Layer, rng: np.random.Generator, share: float) -> Layer:
    if not isinstance(layer, Conv | DepthwiseConv):
        return layer
    weights, bias = np.moveaxis(layer.weights.copy(), layer.channel_axis, 0), layer.bias.copy()
    for channel in np.flatnonzero(rng.random(len(bias)) < share):
        kind = rng.choice([LOW, ZERO])
        bias[channel] = -30 if kind == LOW else rng.uniform(-2, 2)
        weights[channel] *= kind == LOW
    changed: dict[str, Any] = {"weights": np.moveaxis(weights, 0, layer.channel_axis), "bias": bias}
    if isinstance(layer, Conv):
        changed["weights"][..., rng.random(layer.weights.shape[-1]) < share / 2] = 0
    return replace(layer, **changed)


@st.composite
def damaged_networks(draw: st.DrawFn) -> QuantizedGraph:
    """Draw a quantized network some of whose channels are constant."""
    return draw(quantizations(damaged(draw(networks()), draw(st.integers(0, 1000)))))


@settings(max_examples=CASES)
@given(damaged_networks(), st.sampled_from([1, 2, 4]))
def test_values_of_the_channels_that_stay_are_the_same_integers(quantized: QuantizedGraph, multiple: int) -> None:
    removed = removable_channels(quantized, multiple)
    reduced = reduced_network(quantized, removed)
    x = random_inputs(quantized, 2, count=4)
    expected, found = all_outputs(quantized, x), all_outputs(reduced, x)
    for layer in quantized.graph.layers:
        name = layer.output
        kept = [channel for channel in range(layer.out_shape.channels) if channel not in removed.get(name, ())]
        height, width, _ = reduced.graph.shape_of(name)
        np.testing.assert_array_equal(found[name], expected[name][:, :height, :width, kept], err_msg=name)
        assert len(kept) % multiple == 0 or len(kept) == layer.out_shape.channels
    assert reduced.graph.macc <= quantized.graph.macc
    assert [layer.layer.out_shape for layer in reduced.layers] == [layer.out_shape for layer in reduced.graph.layers]


def test_pools_of_the_paper_network_leave_out_rows_and_columns_of_all_layers() -> None:
    graph = import_model(TINY_CNN)
    whole, sizes = (
        [layer.out_shape[:2] for layer in graph.layers],
        [layer.out_shape[:2] for layer in cropped(graph).layers],
    )
    assert whole == [(26, 26), (13, 13), (11, 11), (5, 5), (3, 3), (1, 1), (1, 1)]
    assert sizes == [(20, 20), (10, 10), (8, 8), (4, 4), (2, 2), (1, 1), (1, 1)]
    by_hand = 20 * 20 * 16 * 10 + 10 * 10 * 16 * 4 + 8 * 8 * 32 * 145 + 4 * 4 * 32 * 4 + 2 * 2 * 48 * 289 + 48 * 4 + 490
    assert cropped(graph).macc == by_hand == 425_578
    assert cropped(cropped(graph)).macc == by_hand


@settings(max_examples=CASES)
@given(damaged_networks())
def test_channels_stay_within_their_bounds(quantized: QuantizedGraph) -> None:
    bounds = channel_bounds(quantized)
    for x in (random_inputs(quantized, 3, count=4), extremes(quantized)):
        for name, values in all_outputs(quantized, x).items():
            assert (values >= bounds[name].low).all(), name
            assert (values <= bounds[name].high).all(), name


def extremes(quantized: QuantizedGraph) -> IntArray:
    """Return inputs whose elements all are the least or the largest integer."""
    x = quantized.input_formats[0]
    rng = np.random.default_rng(4)
    return rng.choice([x.low, x.high], (8, *quantized.graph.in_shape)).astype(x.dtype)


def test_bounds_of_a_pointwise_convolution_are_those_of_its_integers() -> None:
    quantized = quantized_randomly(
        NetworkBuilder("tight", Shape(1, 1, 2)).conv(2, activation=Activation()).graph(), 8, 1
    )
    x = np.array([(a, b) for a in range(-128, 128) for b in range(-128, 128)], np.int8).reshape(-1, 1, 1, 2)
    (values,) = all_outputs(quantized, x).values()
    ((_, bounds),) = list(channel_bounds(quantized).items())[1:]
    np.testing.assert_array_equal(bounds.low, values.reshape(-1, 2).min(axis=0))
    np.testing.assert_array_equal(bounds.high, values.reshape(-1, 2).max(axis=0))


def without(graph: Graph, number: int, channels: slice, value: float) -> Graph:
    """Return a network in which channels of a convolution have one value."""
    layers = list(graph.layers)
    conv = layers[number]
    assert isinstance(conv, Conv)
    weights, bias = conv.weights.copy(), conv.bias.copy()
    weights[channels], bias[channels] = 0, value
    layers[number] = replace(conv, weights=weights, bias=bias)
    return replace(graph, layers=tuple(layers))


def chain(value: float, count: int = 4) -> QuantizedGraph:
    """Return 8 channels, of which the first `count` have one value, a depthwise convolution, and another one."""
    graph = NetworkBuilder("chain", Shape(6, 6, 3)).conv(8).depthwise((3, 3)).conv(4).graph()
    return quantized_randomly(without(graph, 0, slice(count), value), 8, 6)


def test_channels_of_zero_go_with_those_of_the_depthwise_convolution_behind_them() -> None:
    first, second, _ = (layer.output for layer in chain(0.0).graph.layers)
    assert removable_channels(chain(0.0)) == {first: (0, 1, 2, 3), second: (0, 1, 2, 3)}


@pytest.mark.parametrize("padded", [True, False])
def test_other_constants_stay_where_windows_reach_over_the_border(padded: bool) -> None:
    graph = NetworkBuilder("border", Shape(6, 6, 3)).conv(8).conv(4, (3, 3), padded=padded).graph()
    quantized = quantized_randomly(without(graph, 0, slice(4), 1.0), 8, 6)
    assert removable_channels(quantized) == ({} if padded else {graph.layers[0].output: (0, 1, 2, 3)})


def test_some_channels_stay_of_a_value_that_is_constant() -> None:
    assert [len(channels) for channels in removable_channels(chain(0.0, count=8)).values()] == [4, 4]
    assert [len(channels) for channels in removable_channels(chain(0.0, count=8), 1).values()] == [7, 7]


def test_sums_have_the_channels_that_one_of_their_inputs_needs() -> None:
    net = NetworkBuilder("sum", Shape(4, 4, 3)).conv(8)
    short = net.value
    graph = net.conv(8).add(short).conv(3).graph()
    first, second, total, _ = (layer.output for layer in graph.layers)
    half, zeros = slice(4, 8), (4, 5, 6, 7)
    one = quantized_randomly(without(graph, 0, half, 0.0), 8, 8)
    assert total not in removable_channels(one)
    both = quantized_randomly(without(without(graph, 0, half, 0.0), 1, half, 0.0), 8, 8)
    assert removable_channels(both) == {first: zeros, second: zeros, total: zeros}


def test_channels_that_are_needed_cannot_be_removed() -> None:
    quantized = chain(0.0)
    with pytest.raises(ValueError, match="needs channels that were removed"):
        reduced_graph(quantized.graph, {quantized.graph.layers[0].output: (0, 1)})
