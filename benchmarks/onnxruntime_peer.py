"""ONNX Runtime's own static quantization, calibrated and measured on the same samples, for comparison.

QDQ, int8 weights with per-channel scales, uint8 values with any scale and zero point. Of its three calibration methods
(minimum and maximum, percentile, entropy) the one with the highest SQNR on the measured samples counts.
"""

import contextlib
import io
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from tinysplit.network.float_reference import run_float_values
from tinysplit.network.graph import Graph
from tinysplit.quantize.accuracy import Accuracy, FloatScores, scores_layer

METHODS = (CalibrationMethod.MinMax, CalibrationMethod.Percentile, CalibrationMethod.Entropy)


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Iterator over the samples."""

    def __init__(self, name: str, x: NDArray[np.float32]) -> None:
        self._rest = iter([{name: sample[np.newaxis]} for sample in x])

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        """Return the next sample, None after the last one."""
        return next(self._rest, None)


def peer_accuracy(graph: Graph, model: Path, calibration: NDArray[np.float32], floats: FloatScores) -> Accuracy:
    """Return the accuracy of the network as ONNX Runtime quantizes it, in float arithmetic."""
    logging.getLogger().setLevel(logging.ERROR)  # its warnings recommend what is already done here
    return max(_accuracies(graph, model, calibration, floats), key=lambda found: found.sqnr_db)


def _accuracies(graph: Graph, model: Path, calibration: NDArray[np.float32], floats: FloatScores) -> Iterator[Accuracy]:
    scores = graph.layers[scores_layer(graph)].output
    with tempfile.TemporaryDirectory() as folder:
        prepared, quantized = Path(folder) / "prepared.onnx", Path(folder) / "quantized.onnx"
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        for method in METHODS:
            with contextlib.redirect_stdout(io.StringIO()):
                quantize_static(
                    prepared,
                    quantized,
                    _Reader(graph.input_name, calibration),
                    quant_format=QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    calibrate_method=method,
                )
            found = run_float_values(quantized, floats.samples.x, (scores,))[scores]
            yield Accuracy.of_scores(found.reshape(len(found), -1).astype(np.float64), floats)
