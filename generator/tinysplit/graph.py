"""The network between import and code generation: layers in topological order, every activation in HWC order."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tinysplit.layers.base import Layer, Shape


@dataclass(frozen=True, eq=False)
class Graph:
    """A network as a sequence of layers.

    Activations are kept as height x width x channels, whatever the ONNX file does; vectors are 1 x 1 x n. The two
    `order` arrays carry the layout changes at the borders, so that nothing on a board has to move data for them:
    `network_input.flat = sample.flat[input_order]` and `onnx_output.flat = network_output.flat[output_order]`.
    """

    name: str
    sha256: str  # of the ONNX file
    layers: tuple[Layer, ...]
    input_name: str  # name of the ONNX input
    sample_shape: tuple[int, ...]  # shape of one sample as the ONNX input has it, without the batch
    input_order: NDArray[np.int64] = field(repr=False)
    output_shape: tuple[int, ...]  # shape of one ONNX output, without the batch
    output_order: NDArray[np.int64] = field(repr=False)

    @property
    def in_shape(self) -> Shape:
        """Shape of the first layer's input."""
        return self.layers[0].in_shape

    @property
    def out_shape(self) -> Shape:
        """Shape of the last layer's output."""
        return self.layers[-1].out_shape

    @cached_property
    def macc(self) -> int:
        """Multiply-accumulates of one inference, by the counting rules of the layers."""
        return sum(layer.macc for layer in self.layers)
