"""Accuracy of a network in fixed point against the float network: top-1, agreement, and SQNR before the softmax."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.units import PERCENT
from tinysplit.network.float_reference import run_float_values
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import CHUNK, quantize_input, run_layers
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.quantize.statistics import decibels


def scores_layer(graph: Graph) -> int:
    """Return the index of the layer whose outputs are compared: the last one, or the one that a final softmax reads."""
    last = len(graph.layers) - 1
    return graph.predecessors[last][0] if graph.layers[last].kind == "softmax" and last > 0 else last


@dataclass(frozen=True, eq=False)
class FloatScores:
    """Samples (N x sample_shape) and the outputs of the float network on them before a softmax (N x outputs)."""

    samples: Samples
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, graph: Graph, model: Path, samples: Samples) -> Self:
        """Run the float network. Raises InputError where ONNX Runtime cannot."""
        name = graph.layers[scores_layer(graph)].onnx_value
        scores = run_float_values(model, samples.x, (name,), graph.qdq_formats)[name].reshape(len(samples.x), -1)
        return cls(samples, scores.astype(np.float64))

    @property
    def top1(self) -> float | None:
        """Share of the samples whose largest output is that of their label, None without labels."""
        return _top1(self.scores, self.samples.y)


@dataclass(frozen=True)
class Accuracy:
    """A network in fixed point against the float network on the same samples.

    `sqnr_db` is the signal to quantization-noise ratio before the softmax, `agreement` the share of samples on which
    both predict the same class; `top1` and `float_top1` are shares of samples, None without labels.
    """

    samples: int
    sqnr_db: float
    agreement: float
    top1: float | None
    float_top1: float | None

    @classmethod
    def of(cls, quantized: QuantizedGraph, floats: FloatScores) -> Self:
        """Run the integer reference on all samples and compare."""
        return cls.of_scores(_scores(quantized, floats.samples.x), floats)

    @classmethod
    def of_scores(cls, scores: NDArray[np.float64], floats: FloatScores) -> Self:
        """Compare the outputs of any network before a softmax (N x outputs) with those of the float network."""
        noise = float(((scores - floats.scores) ** 2).sum())
        signal = float((floats.scores**2).sum())
        return cls(
            samples=len(scores),
            sqnr_db=decibels(signal, noise),
            agreement=float((scores.argmax(axis=1) == floats.scores.argmax(axis=1)).mean()),
            top1=_top1(scores, floats.samples.y),
            float_top1=floats.top1,
        )

    @property
    def drop_points(self) -> float | None:
        """Percentage points of top-1 accuracy lost against float, None without labels."""
        if self.top1 is None or self.float_top1 is None:
            return None
        return PERCENT * (self.float_top1 - self.top1)


def _scores(quantized: QuantizedGraph, x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the dequantized values before a softmax (N x outputs), in ONNX's order."""
    graph = quantized.graph
    index = scores_layer(quantized.graph)
    parts: list[NDArray[np.float64]] = []
    for start in range(0, len(x), CHUNK):
        outputs = list(run_layers(quantized, quantize_input(quantized, x[start : start + CHUNK])))
        chosen = outputs[index].reshape(len(outputs[index]), -1)[:, graph.output_order]
        parts.append(quantized.layers[index].formats.y.dequantize(chosen))
    return np.concatenate(parts)


def _top1(scores: NDArray[np.float64], labels: NDArray[np.int64] | None) -> float | None:
    return None if labels is None else float((scores.argmax(axis=1) == labels).mean())
