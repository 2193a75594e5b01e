"""The noise of many networks that differ in few formats: what does not change from one to the next is kept.

A layer is calibrated and computed again only where its formats or the values that it reads are others than in the
network before.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.integer_reference import LayerStates, quantize_input, run_layers
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.accuracy import FloatScores, noise_power
from tinysplit.quantize.calibrated_parameters import calibrated_layer


class _Step(NamedTuple):
    """A layer before and after its calibration on what it `read`."""

    layer: QuantizedLayer
    read: Sequence[IntArray]
    calibrated: QuantizedLayer


class TrialRuns:
    """Networks in fixed point on few samples, calibrated against a reference in more bits."""

    def __init__(self, reference: QuantizedGraph, floats: FloatScores) -> None:
        self._reference, self._floats = reference, floats
        x = quantize_input(reference, floats.samples.x)
        self._exact = {NETWORK_INPUT: x, **dict(enumerate(run_layers(reference, x)))}
        self._values: dict[int, IntArray] = {}  # of the network before, by layer
        self._steps: dict[int, _Step] = {}

    def noise(self, nearest: QuantizedGraph) -> float:
        """Return the noise power of a network with the layers of the reference, as `calibrate_parameters` leaves it.

        Layers that are the same objects as before count as the same.
        """
        self._keep(NETWORK_INPUT, quantize_input(nearest, self._floats.samples.x))
        layers = tuple(self._calibrated(index, layer) for index, layer in enumerate(nearest.layers))
        return noise_power(replace(nearest, layers=layers), self._values, self._floats)

    def _calibrated(self, index: int, layer: QuantizedLayer) -> QuantizedLayer:
        """Return the calibrated layer, and keep its output."""
        sources, step = self._reference.graph.predecessors[index], self._steps.get(index)
        read = [self._values[source] for source in sources]
        if step and step.layer is layer and all(own is before for own, before in zip(read, step.read, strict=True)):
            return step.calibrated
        shapes, count = layer.layer.in_shapes, len(read[0])
        inputs = [value.reshape(count, *shape) for value, shape in zip(read, shapes, strict=True)]
        exact = self._exact[sources[0]].reshape(count, *shapes[0])
        better = calibrated_layer(layer, inputs[0], exact, self._reference.layers[index].formats.x)
        self._keep(index, LayerStates().run(index, better, inputs))
        self._steps[index] = _Step(layer, read, better)
        return better

    def _keep(self, source: int, values: IntArray) -> None:
        """Keep values, in the array that has them already where they are the same as before."""
        before = self._values.get(source)
        if before is None or before.dtype != values.dtype or not np.array_equal(before, values):
            self._values[source] = values
