"""How far two orders of the same things agree."""

from collections.abc import Sequence

import numpy as np


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation of two lists with ties, from -1 to 1; NaN where all values of one are the same."""
    signs = [np.sign(np.subtract.outer(values, values).round(12)) for values in (first, second)]
    untied = np.sqrt((signs[0] ** 2).sum() * (signs[1] ** 2).sum())
    return float((signs[0] * signs[1]).sum() / untied) if untied else np.nan
