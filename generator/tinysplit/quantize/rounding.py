"""Weight rounding by coordinate descent: rounding errors of one channel cancel on the calibration inputs.

The error of an output channel is (rounded - exact) * u for the values u under its window, so its variance is e' C e
with the rounding errors e and the covariance C of u. Starting with the nearest integers, one weight after the other
takes the integer that minimises this, until none changes. The objective is that of Optimal Brain Quantization
(E. Frantar, S. P. Singh, D. Alistarh, "Optimal Brain Compression", 2022).
"""

import numpy as np
from numpy.typing import NDArray

DAMPING = 0.01  # of the mean variance: inputs that hardly vary keep their nearest weights
SWEEPS = 8  # over all weights, at most
WEIGHT_BITS = 8

Floats = NDArray[np.float64]


def round_weights(weights: Floats, covariance: Floats) -> Floats:
    """Return integers (-127 to 127) near `weights`, both output channels x inputs, in units of the weights' scale.

    `covariance` (inputs x inputs) is that of the inputs.
    """
    limit = (1 << (WEIGHT_BITS - 1)) - 1
    variances = covariance.diagonal()
    damped = covariance + DAMPING * variances.mean() * np.eye(len(covariance))
    rounded = np.rint(weights).clip(-limit, limit)
    slopes = (rounded - weights) @ damped
    places = [int(i) for i in np.argsort(-variances, kind="stable") if damped[i, i] > 0]
    for _ in range(SWEEPS):
        has_changed = False
        for i in places:
            steps = np.rint(rounded[:, i] - slopes[:, i] / damped[i, i]).clip(-limit, limit) - rounded[:, i]
            if (channels := steps.nonzero()[0]).size:
                slopes[channels] += np.outer(steps[channels], damped[i])
                rounded[channels, i] += steps[channels]
                has_changed = True
        if not has_changed:
            break
    return rounded
