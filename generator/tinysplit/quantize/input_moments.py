"""Means and covariances of the values that the weights of a layer multiply, from its integer inputs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.depthwise_conv import DepthwiseConv

WINDOW_VALUES = 1 << 22  # at a time: bounds the memory

Floats = NDArray[np.float64]
WindowLayer = Conv | DepthwiseConv | Dense


@dataclass(frozen=True, eq=False)
class InputMoments:
    """Of the values under a layer's windows: means (groups x weights of a channel), and covariances."""

    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, layer: WindowLayer, values: IntArray, zero_point: int) -> Self:
        """Return the moments of `values` (N x H x W x C), less their zero point.

        Sums in float64 are exact for up to 2**22 windows of 16-bit integers, in any order.
        """
        count, sums, products = 0, np.zeros(1), np.zeros(1)
        for windows in _windows(layer, values, zero_point):
            count += windows.shape[1]
            sums = sums + windows.sum(axis=1)
            products = products + windows.swapaxes(1, 2) @ windows
        means = sums / count
        return cls(means, products / count - means[:, :, np.newaxis] * means[:, np.newaxis, :])


def input_means(layer: WindowLayer, values: IntArray, zero_point: int) -> Floats:
    """Return `InputMoments.means` (groups x weights of a channel) without the covariances: less time and memory.

    The windows of the sum of all samples are the sums of their windows.
    """
    summed = values.sum(axis=0, keepdims=True, dtype=np.int64) - len(values) * zero_point
    windows = layer.windows(summed.astype(np.float64))
    means: Floats = windows.sum(axis=1) / (len(values) * windows.shape[1])
    return means


def _windows(layer: WindowLayer, values: IntArray, zero_point: int) -> Iterator[Floats]:
    """Yield the windows of a few samples at a time, less the zero point, which is what padding holds."""
    chunk = max(WINDOW_VALUES // layer.windows(values[:1]).size, 1)
    for start in range(0, len(values), chunk):
        yield layer.windows(values[start : start + chunk].astype(np.float64) - zero_point)
