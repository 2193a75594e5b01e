"""Bias correction: removes the mean error of every output channel.

Rounding, clipping and errors of earlier layers shift the mean of a channel; the bias compensates for that (M. Nagel,
M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization Through Weight Equalization and Bias Correction",
2019).
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_error(exact_weights: Floats, exact_means: Floats, weights: Floats, means: Floats) -> Floats:
    """Return by how much the mean accumulator of each output channel is too small.

    Weights are output channels x weights of a channel, means of the inputs groups x weights of a channel, all in the
    scales of the quantized layer.
    """
    return _mean_sums(exact_weights, exact_means) - _mean_sums(weights, means)


def _mean_sums(weights: Floats, means: Floats) -> Floats:
    """Return the mean accumulator of each output channel, which reads the inputs of its group."""
    sums: Floats = (weights.reshape(len(means), -1, means.shape[1]) * means[:, np.newaxis]).sum(axis=-1).ravel()
    return sums
