"""Whole ranges of values, for tests that choose formats without clipping."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinysplit.quantize.statistics import value_statistics


def value_ranges(model: Path, names: Iterable[str], x: NDArray[np.float32]) -> dict[str, tuple[float, float]]:
    """Return minimum and maximum of the named values of the float network over all samples."""
    return {name: values.range for name, values in value_statistics(model, names, x).items()}
