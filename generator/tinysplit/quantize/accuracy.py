"""Accuracy of a network in fixed point against the float network: top-1, agreement, and SQNR before the softmax."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.units import PERCENT
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.float_reference import run_float_values
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import CHUNK, LayerStates, quantize_input, run_layers
from tinysplit.network.layers import ArgMax, Softmax
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Labels, Samples
from tinysplit.quantize.statistics import decibels

Scores = Mapping[str, NDArray[np.float64]]  # N x elements of each output before a softmax, by its name


def scores_layers(graph: Graph) -> dict[str, int]:
    """Return the index of the layer that is compared for each output: its own, or the one with its scores.

    They are what a softmax without a mask reads, and what an arg max reads that decides for a class.
    """
    computed = {layer.output: index for index, layer in enumerate(graph.layers)}
    return {output.name: _scores_layer(graph, computed[output.value]) for output in graph.outputs}


def scores_values(graph: Graph) -> dict[str, str]:
    """Return the ONNX value that is compared for each output: it, or its scores."""
    compared = {name: graph.layers[index] for name, index in scores_layers(graph).items()}
    are_own = {output.name: compared[output.name].output == output.value for output in graph.outputs}
    return {name: name if are_own[name] else layer.onnx_value for name, layer in compared.items()}


def _scores_layer(graph: Graph, index: int) -> int:
    layer = graph.layers[index]
    has_scores = (isinstance(layer, Softmax) and layer.masked is None) or (
        isinstance(layer, ArgMax) and layer.out_shape.size == 1
    )
    return graph.predecessors[index][0] if has_scores and index > 0 else index


@dataclass(frozen=True, eq=False)
class FloatScores:
    """Samples, and the outputs of the float network on them before a softmax."""

    samples: Samples
    scores: Scores
    without_classes: frozenset[str] = frozenset()  # outputs, by their names
    before: Mapping[str, str] = field(default_factory=dict)  # the kind of the layer that reads scores, by output

    @classmethod
    def of(cls, graph: Graph, model: Path, samples: Samples) -> Self:
        """Run the float network. Raises InputError where ONNX Runtime cannot."""
        names = scores_values(graph)
        values = run_float_values(model, samples.x, names.values(), graph.qdq_formats)
        count = len(samples.x)
        scores = {name: values[own].reshape(count, -1).astype(np.float64) for name, own in names.items()}
        layers = {layer.output: layer for layer in graph.layers}
        read = {output.name: layers[output.value].kind for output in graph.outputs if names[output.name] != output.name}
        without_classes = frozenset(output.name for output in graph.outputs if not output.has_classes)
        return cls(samples, scores, without_classes, read)

    def top1(self, name: str) -> float | None:
        """Return the share of the samples whose largest value of an output is that of their label; None without."""
        return _top1(self.scores[name], self.samples.labels.get(name))


@dataclass(frozen=True)
class OutputAccuracy:
    """An output in fixed point against the float network on the same samples.

    `sqnr_db` is the signal to quantization-noise ratio, of what a softmax or an arg max reads where the output is that
    of one, whose kind is `before`. `agreement` is the share of samples on which both predict the same class, None where
    it has none; `top1` and `float_top1` are shares of samples, None without labels.
    """

    sqnr_db: float
    agreement: float | None
    top1: float | None
    float_top1: float | None
    before: str = ""

    @property
    def drop_points(self) -> float | None:
        """Percentage points of top-1 accuracy lost against float, None without labels."""
        if self.top1 is None or self.float_top1 is None:
            return None
        return PERCENT * (self.float_top1 - self.top1)

    def to_json(self) -> dict[str, Any]:
        """Return the accuracy as JSON values, without noise None for its ratio."""
        return asdict(self) | {"sqnr_db": self.sqnr_db if isfinite(self.sqnr_db) else None}


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of each output of a network, by its name; single figures are those of the worst one."""

    samples: int
    outputs: Mapping[str, OutputAccuracy]

    @classmethod
    def of(cls, quantized: QuantizedGraph, floats: FloatScores) -> Self:
        """Run the integer reference on all samples and compare."""
        return cls.of_scores(_scores(quantized, floats.samples.x), floats)

    @classmethod
    def of_scores(cls, scores: Scores, floats: FloatScores) -> Self:
        """Compare the outputs of any network before a softmax with those of the float network."""
        return cls(len(floats.samples.x), {name: _accuracy(name, own, floats) for name, own in scores.items()})

    @property
    def sqnr_db(self) -> float:
        """Signal to quantization-noise ratio of the worst output."""
        return min(each.sqnr_db for each in self.outputs.values())

    @property
    def before(self) -> str:
        """The kind of the layer before which that is: see `OutputAccuracy`."""
        return min(self.outputs.values(), key=lambda each: each.sqnr_db).before

    @property
    def agreement(self) -> float | None:
        """Share of samples on which float and fixed point predict the same class."""
        return min((each.agreement for each in self.outputs.values() if each.agreement is not None), default=None)

    @property
    def drop_points(self) -> float | None:
        """Percentage points of top-1 accuracy lost against float, None without labels."""
        return self._labelled.drop_points if self._labelled else None

    @property
    def top1(self) -> float | None:
        """Share of samples whose predicted class is that of their label, None without labels."""
        return self._labelled.top1 if self._labelled else None

    @property
    def float_top1(self) -> float | None:
        """The same of the float network."""
        return self._labelled.float_top1 if self._labelled else None

    @property
    def _labelled(self) -> OutputAccuracy | None:
        labelled = (each for each in self.outputs.values() if each.drop_points is not None)
        return max(labelled, key=lambda each: each.drop_points or 0.0, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return the accuracy as JSON values."""
        worst = OutputAccuracy(self.sqnr_db, self.agreement, self.top1, self.float_top1, self.before)
        outputs = {name: each.to_json() for name, each in self.outputs.items()}
        return {"samples": self.samples, **worst.to_json(), "outputs": outputs}


def _accuracy(name: str, scores: NDArray[np.float64], floats: FloatScores) -> OutputAccuracy:
    expected = floats.scores[name]
    agreement = float((scores.argmax(axis=1) == expected.argmax(axis=1)).mean())
    return OutputAccuracy(
        sqnr_db=decibels(float((expected**2).sum()), float(((scores - expected) ** 2).sum())),
        agreement=None if name in floats.without_classes else agreement,
        top1=_top1(scores, floats.samples.labels.get(name)),
        float_top1=floats.top1(name),
        before=floats.before.get(name, ""),
    )


def before_what(kind: str) -> str:
    """Return the words for the layer before which an SQNR is one, none for that of the output itself."""
    return f" before the {kind.replace('_', ' ')}" if kind else ""


def noise_power(quantized: QuantizedGraph, values: Mapping[int, IntArray], floats: FloatScores) -> float:
    """Return the squared errors before a softmax over the values, of all outputs.

    `values` are the integers of all layers of a network in fixed point, on the samples of `floats`.
    """
    found = _scores_of(quantized, values)
    return sum(
        float(((found[name] - own) ** 2).sum()) / (float((own**2).sum()) or 1.0) for name, own in floats.scores.items()
    )


def _scores(quantized: QuantizedGraph, x: NDArray[np.float32]) -> Scores:
    """Return the dequantized values before a softmax, in ONNX's order."""
    parts: dict[str, list[NDArray[np.float64]]] = {output.name: [] for output in quantized.graph.outputs}
    states = LayerStates()
    for start in range(0, len(x), CHUNK):
        values = list(run_layers(quantized, quantize_input(quantized, x[start : start + CHUNK]), states))
        for name, own in _scores_of(quantized, dict(enumerate(values))).items():
            parts[name].append(own)
    return {name: np.concatenate(own) for name, own in parts.items()}


def _scores_of(quantized: QuantizedGraph, values: Mapping[int, IntArray]) -> Scores:
    layers, found = scores_layers(quantized.graph), {}
    for output in quantized.graph.outputs:
        index = layers[output.name]
        integers = values[index].reshape(len(values[index]), -1)
        if integers.shape[1] == output.order.size:
            integers = integers[:, output.order]
        found[output.name] = quantized.layers[index].formats.y.dequantize(integers)
    return found


def _top1(scores: NDArray[np.float64], labels: Labels | None) -> float | None:
    return None if labels is None else float((scores.argmax(axis=1) == labels).mean())
