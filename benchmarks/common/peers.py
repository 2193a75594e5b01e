"""ONNX Runtime's static quantization of a network, in float arithmetic: what our accuracy is compared with."""

import contextlib
import io
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from tinysplit.network.float_reference import run_float_values
from tinysplit.network.graph import Graph
from tinysplit.quantize.accuracy import Accuracy, FloatScores

METHODS = (CalibrationMethod.MinMax, CalibrationMethod.Percentile, CalibrationMethod.Entropy)


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Iterator over the samples."""

    def __init__(self, name: str, x: NDArray[np.float32]) -> None:
        self._rest = iter([{name: sample[np.newaxis]} for sample in x])

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        """Return the next sample, None after the last one."""
        return next(self._rest, None)


def peer_accuracies(
    graph: Graph, model: Path, calibration: NDArray[np.float32], floats: FloatScores
) -> Iterator[tuple[str, Accuracy]]:
    """Yield the accuracy of the network as ONNX Runtime quantizes it with each of its calibration methods, by name.

    QDQ, int8 weights with per-channel scales, uint8 values with any scale and zero point. What it makes is computed in
    float arithmetic, each operator by its definition.
    """
    logging.getLogger().setLevel(logging.ERROR)  # its warnings recommend what is already done here
    with tempfile.TemporaryDirectory() as folder:
        prepared, quantized = Path(folder) / "prepared.onnx", Path(folder) / "quantized.onnx"
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        for method in METHODS:
            with contextlib.redirect_stdout(io.StringIO()):
                quantize_static(
                    prepared,
                    quantized,
                    _Reader(graph.inputs[0].name, calibration),
                    quant_format=QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    calibrate_method=method,
                )
            names = _scores_names(onnx.load(quantized))
            x = floats.samples.x
            found = run_float_values(quantized, x, names.values())
            scores = {name: found[own].reshape(len(x), -1).astype(np.float64) for name, own in names.items()}
            yield method.name, Accuracy.of_scores(scores, floats)


def _scores_names(model: ModelProto) -> dict[str, str]:
    """Return the value that is compared for each output: it, or what a final softmax reads, behind its pair."""
    makers = {output: node for node in model.graph.node for output in node.output}
    names = {}
    for output in model.graph.output:
        last = makers[output.name]
        while last.op_type in {"QuantizeLinear", "DequantizeLinear"} and last.input[0] in makers:
            last = makers[last.input[0]]
        names[output.name] = str(last.input[0]) if last.op_type == "Softmax" else output.name
    return names
