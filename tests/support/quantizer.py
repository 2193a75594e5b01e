"""A quantizer calibrated on given samples."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinysplit.onnx_import import import_model
from tinysplit.quantize.calibrate import Quantizer
from tinysplit.quantize.statistics import value_statistics


def quantizer(model: Path, x: NDArray[np.float32]) -> Quantizer:
    """Return a quantizer of the model with the statistics of samples `x` (N x the input's shape)."""
    graph = import_model(model)
    return Quantizer(graph, value_statistics(model, graph.value_names, x), x)
