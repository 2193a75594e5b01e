"""Multiply-accumulates of convolutions, counted by hand."""

from typing import Any

import numpy as np
import pytest

from tinysplit.network.layers import Activation, Conv, ConvTranspose, Dense, DepthwiseConv, Pads, Shape, Window


def conv(outputs: int, groups: int, activation: Activation) -> Conv:
    """Return a convolution of 12 channels with a kernel of 3x2 whose output has 4 x 5 pixels."""
    return Conv(
        name="conv",
        inputs=("x",),
        output="y",
        in_shape=Shape(6, 6, 12),
        weights=np.zeros((outputs, 3, 2, 12 // groups), np.float32),
        bias=np.zeros(outputs, np.float32),
        window=Window((3, 2)),
        groups=groups,
        activation=activation,
    )


@pytest.mark.parametrize(
    ("outputs", "groups", "macc"),
    [
        (8, 1, 4 * 5 * 8 * (3 * 2 * 12 + 1)),
        (8, 2, 4 * 5 * 8 * (3 * 2 * 6 + 1)),
        (8, 4, 4 * 5 * 8 * (3 * 2 * 3 + 1)),
        (24, 12, 4 * 5 * 24 * (3 * 2 * 1 + 1)),
        (3, 3, 4 * 5 * 3 * (3 * 2 * 4 + 1)),
    ],
)
def test_a_convolution_counts_the_inputs_of_a_group(outputs: int, groups: int, macc: int) -> None:
    assert conv(outputs, groups, Activation()).macc == macc
    assert conv(outputs, groups, Activation(0.0, np.inf)).macc == macc
    assert conv(outputs, groups, Activation(0.0, 6.0)).macc == macc + 4 * 5 * outputs


def test_other_layers_with_weights() -> None:
    names: dict[str, Any] = {"name": "layer", "inputs": ("x",), "output": "y"}
    bias = np.zeros(5, np.float32)
    dense = Dense(**names, in_shape=Shape(1, 1, 7), weights=np.zeros((5, 7), np.float32), bias=bias)
    assert dense.macc == 5 * 7 + 5
    depthwise = DepthwiseConv(
        **names,
        in_shape=Shape(4, 4, 5),
        weights=np.zeros((3, 3, 5), np.float32),
        bias=bias,
        window=Window((3, 3), (2, 2), pads=Pads(1, 1, 1, 1)),
    )
    assert depthwise.macc == 2 * 2 * 5 * (9 + 1)
    transposed = ConvTranspose(
        **names,
        in_shape=Shape(2, 3, 4),
        weights=np.zeros((5, 2, 2, 4), np.float32),
        bias=bias,
        stride=(2, 2),
        dilation=(1, 1),
        pads=Pads(),
        growth=(0, 0),
    )
    assert transposed.macc == 2 * 3 * 4 * (5 * 2 * 2) + 4 * 6 * 5
