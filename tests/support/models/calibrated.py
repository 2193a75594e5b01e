"""A model calibrated on given samples."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.scale_search import TimeLimit


def calibrated(model: Path, x: NDArray[np.float32], limit: TimeLimit | None = None) -> Calibration:
    """Return the calibration of the model on samples `x` (N x the input's shape)."""
    return Calibration.of(import_model(model), model, Samples(x), Console(quiet=True), limit)
