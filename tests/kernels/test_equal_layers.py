"""Costs that are kept for layers that are equal but for their names."""

from dataclasses import replace

import numpy as np

from tinysplit.kernels.equal_layers import of_equal_layers, of_equal_shapes
from tinysplit.network.layers import Shape
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.network_builder import NetworkBuilder


class Counting:
    """Costs that count how often they are computed."""

    computed = 0

    @of_equal_layers
    def cost(self, layer: Layer, more: int = 0) -> int:
        """Return the MACs, and more."""
        self.computed += 1
        return layer.macc + more

    @of_equal_shapes
    def cost_of_shape(self, layer: Layer) -> int:
        """Return the same without more."""
        self.computed += 1
        return layer.macc


def test_layers_with_other_names_are_equal() -> None:
    layer, costs = NetworkBuilder("net", Shape(8, 8, 4)).conv(8, (3, 3)).graph().layers[0], Counting()
    renamed = replace(layer, name="another", inputs=("x",), output="y")
    assert costs.cost(layer) == costs.cost(renamed) == layer.macc
    assert costs.computed == 1
    assert costs.cost(renamed, 3) == layer.macc + 3
    assert Counting().cost(layer) == layer.macc


def test_other_shapes_and_arrays_are_not() -> None:
    layer, costs = NetworkBuilder("net", Shape(8, 8, 4)).conv(8, (3, 3)).graph().layers[0], Counting()
    larger = replace(layer, in_shape=Shape(9, 8, 4))
    assert isinstance(layer, Conv)
    other = replace(layer, weights=layer.weights.copy())
    assert costs.cost(larger) > costs.cost(layer)
    costs.cost(other)
    assert costs.computed == 3


def test_trained_weights_do_not_count_where_costs_do_not_read_them() -> None:
    layer, costs = NetworkBuilder("net", Shape(8, 8, 4)).conv(8, (3, 3)).graph().layers[0], Counting()
    assert isinstance(layer, Conv)
    other = replace(layer, weights=layer.weights.copy(), bias=layer.bias.copy())
    assert costs.cost_of_shape(layer) == costs.cost_of_shape(other) == layer.macc
    assert costs.computed == 1
    wider = replace(layer, weights=np.zeros((8, 4, 3, 5), np.float32))
    costs.cost_of_shape(wider)
    assert costs.computed == 2
