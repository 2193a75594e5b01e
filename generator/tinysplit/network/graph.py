"""The network between import and code generation: layers in topological order, every activation in HWC order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.distribution import Part, SliceAxis
from tinysplit.network.ends import NetworkInput, NetworkOutput, joint_order, joint_shape
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.layers.base import Activation, Layer, Shape
from tinysplit.network.layers.recurrent import keeps_state

NETWORK_INPUT = -1  # index of the network's input, which the host sends, instead of a layer index


def with_clamps(
    layers: Sequence[Layer], qdq_formats: Mapping[str, ValueFormat] = MappingProxyType({})
) -> tuple[Layer, ...]:
    """Return the layers, in their order, with the known ranges of their first inputs from the activations before.

    Values with a zero point are also stored as negative integers, so their ranges are not used.
    """
    clamps: dict[str, Activation] = {}
    clamped = []
    for layer in layers:
        x_clamp = clamps.get(layer.inputs[0], Activation())
        clamp = layer.activation
        if layer.keeps_sign:
            clamp = replace(clamp, low=max(clamp.low, x_clamp.low))
        has_zero_point = layer.output in qdq_formats and qdq_formats[layer.output].zero_point
        clamps[layer.output] = Activation() if has_zero_point else clamp
        clamped.append(replace(layer, x_clamp=x_clamp))
    return tuple(clamped)


@dataclass(frozen=True, eq=False)
class Graph:
    """A network as layers in topological order: each reads the network's input or outputs of layers before it.

    The output of the last layer is the network's; every other output is read by some layer. A chain, in which each
    layer reads the one before it, is the special case.

    Activations are kept as height x width x channels, whatever the ONNX file does; vectors are 1 x 1 x n. The orders
    of inputs and outputs carry the layout changes at the borders, so that boards need not move data for them.

    Several inputs lie side by side in one tensor, of which layers copy one each; the last layer brings several outputs
    together.
    """

    name: str
    sha256: str  # of the ONNX file
    layers: tuple[Layer, ...]
    inputs: tuple[NetworkInput, ...]
    outputs: tuple[NetworkOutput, ...]
    qdq_formats: Mapping[str, ValueFormat] = field(default_factory=dict)  # of a quantized (QDQ) network, by value name
    has_weights: bool = True  # else stand-ins, which serve for estimates alone
    parts: tuple[Part, ...] = ()  # of a distributed network: what each layer computes of the whole one, and where

    @classmethod
    def of_layers(cls, name: str, layers: Sequence[Layer], sha256: str = "") -> Self:
        """Return a network without an ONNX file: input and output have the memory order of the first and last layer."""
        first, last = layers[0], layers[-1]
        x, y = first.in_shape, last.out_shape
        return cls(
            name=name,
            sha256=sha256,
            layers=with_clamps(layers),
            inputs=(NetworkInput(name=first.inputs[0], shape=tuple(x), order=np.arange(x.size)),),
            outputs=(NetworkOutput(name=last.output, shape=tuple(y), order=np.arange(y.size), value=last.output),),
        )

    @property
    def input_name(self) -> str:
        """Name of the tensor that the host sends: that of the input, or of all inputs side by side."""
        return self.layers[0].inputs[0]

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample: see `joint_shape`."""
        return joint_shape(self.inputs)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one result: see `joint_shape`."""
        return joint_shape(self.outputs)

    @cached_property
    def input_order(self) -> NDArray[np.int64]:
        """The order of all inputs: `network_input.flat = sample.flat[input_order]`."""
        return joint_order(self.inputs)

    @cached_property
    def output_order(self) -> NDArray[np.int64]:
        """The order of all outputs: `result.flat = network_output.flat[output_order]`."""
        return joint_order(self.outputs)

    @cached_property
    def value_names(self) -> tuple[str, ...]:
        """Names of the network's input and of every layer's output."""
        return (self.input_name, *(layer.output for layer in self.layers))

    @property
    def onnx_values(self) -> Mapping[str, str]:
        """The ONNX value that has the numbers of each of `value_names`; several copies may have one."""
        return {self.input_name: self.input_name} | {layer.output: layer.onnx_value for layer in self.layers}

    @property
    def side_by_side(self) -> Mapping[str, tuple[str, ...]]:
        """The values in which those of several inputs or outputs of the whole network lie side by side."""
        inputs = {self.input_name: tuple(end.name for end in self.inputs)}
        outputs = {self.layers[-1].output: tuple(end.value for end in self.outputs)}
        return {name: values for name, values in (inputs | outputs).items() if len(values) > 1}

    @property
    def is_distributed(self) -> bool:
        """Whether the layers are parts on given boards: see network/distribute.py."""
        return bool(self.parts)

    @property
    def keeps_state(self) -> bool:
        """Whether an inference depends on those before it in its run."""
        return any(map(keeps_state, self.layers))

    @cached_property
    def boards(self) -> tuple[int, ...]:
        """The 0-based board of each layer of a distributed network."""
        return tuple(part.board for part in self.parts)

    def siblings(self, number: int) -> tuple[int, ...]:
        """Return the layers with the constants of layer `number` on its board: tiles of one layer."""
        return self._siblings.get(number, (number,))

    @cached_property
    def _siblings(self) -> Mapping[int, tuple[int, ...]]:
        tiles: dict[tuple[int, int, str], list[int]] = {}
        for number, (layer, part) in enumerate(zip(self.layers, self.parts, strict=False)):
            if not layer.is_view and part.axis is SliceAxis.ROWS:
                tiles.setdefault((part.tensor, part.board, layer.kind), []).append(number)
        return {number: tuple(own) for own in tiles.values() for number in own}

    @cached_property
    def _sources(self) -> Mapping[str, int]:
        """The layer that computes each value, NETWORK_INPUT for the host's, by name."""
        return {name: index for index, name in enumerate(self.value_names, NETWORK_INPUT)}

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """The layers whose outputs each layer reads, in the order of its inputs, NETWORK_INPUT for the host's."""
        return tuple(tuple(self._sources[name] for name in layer.inputs) for layer in self.layers)

    def format_source(self, value: str) -> str:
        """Return the value whose format a value has: that of the inputs of layers that keep it, as pools do."""
        while value in self._kept_formats:
            value = self._kept_formats[value]
        return value

    @cached_property
    def _kept_formats(self) -> Mapping[str, str]:
        return {layer.output: layer.inputs[0] for layer in self.layers if layer.keeps_format}

    def of_one_width(self, name: str) -> frozenset[str]:
        """Return the values with the width of a value: it, those that have its format, and those beside it."""
        return self._of_one_width[name]

    def least_bits(self, name: str) -> int:
        """Return the fewest bits of a value with those that have its width."""
        return max(self._least_bits.get(each, 0) for each in self.of_one_width(name))

    @cached_property
    def _least_bits(self) -> Mapping[str, int]:
        return {layer.output: layer.least_bits for layer in self.layers}

    @cached_property
    def _of_one_width(self) -> Mapping[str, frozenset[str]]:
        groups = {name: frozenset([name]) for name in self.value_names}
        for layer in self.layers:
            tied = layer.inputs if layer.keeps_integers else layer.inputs[:1] if layer.keeps_format else ()
            joined = frozenset().union(groups[layer.output], *(groups[name] for name in tied))
            groups |= dict.fromkeys(joined, joined)
        return groups

    def readers(self, source: int) -> tuple[int, ...]:
        """Return the layers that read a tensor, in their order."""
        return self._readers.get(source, ())

    @cached_property
    def _readers(self) -> Mapping[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for number, read in enumerate(self.predecessors):
            for source in dict.fromkeys(read):
                found.setdefault(source, []).append(number)
        return {source: tuple(readers) for source, readers in found.items()}

    def last_reader(self, source: int) -> int:
        """Return the index of the last layer that reads the output of layer `source`, -1 for one that none reads."""
        return self._readers[source][-1] if source in self._readers else NETWORK_INPUT

    @cached_property
    def peak_size(self) -> int:
        """Most elements in memory while a layer runs: its output, and all that it or a later layer reads."""
        changes = [0] * (len(self.layers) + 1)
        for source in range(NETWORK_INPUT, len(self.layers)):
            changes[max(source, 0)] += self.size(source)
            changes[max(source, self.last_reader(source)) + 1] -= self.size(source)
        return max(accumulate(changes))

    def shape(self, source: int) -> Shape:
        """Return the shape of a layer's output, or of the network's input."""
        return self.in_shape if source == NETWORK_INPUT else self.layers[source].out_shape

    def shape_of(self, value: str) -> Shape:
        """Return the shape of a value by its name."""
        return self.shape(self._sources[value])

    def size(self, source: int) -> int:
        """Return the elements of a layer's output, or of the network's input."""
        return self.shape(source).size

    @property
    def in_shape(self) -> Shape:
        """Shape of the network's input, as the first layer reads it."""
        return self.layers[0].in_shape

    @property
    def out_shape(self) -> Shape:
        """Shape of the last layer's output."""
        return self.layers[-1].out_shape

    @cached_property
    def macc(self) -> int:
        """MACs of one inference, by the counting rules of the layers."""
        return sum(layer.macc for layer in self.layers)
