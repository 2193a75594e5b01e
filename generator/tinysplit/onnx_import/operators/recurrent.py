"""LSTM, GRU and RNN over a fixed number of steps, with one direction or two."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinysplit.network.layers import Cell, Concat, Layer, Recurrent, Shape
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import IndexArray, Layout
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator

FUNCTIONS = {Cell.LSTM: ("sigmoid", "tanh", "tanh"), Cell.GRU: ("sigmoid", "tanh"), Cell.RNN: ("tanh",)}
OTHER_FUNCTIONS = Refusal("computes its gates by {}: supported are Sigmoid and Tanh, and in an RNN Relu")
OTHER_STEPS = Refusal("has sequences of {} steps: all have to have the {} of its input")
CLIPPED = Refusal("clips the sums of its gates: not supported")
PEEPHOLES = Refusal("has peephole weights: not supported")
COUPLED = Refusal("couples its input gate to its forget gate: not supported")
SEVERAL_SEQUENCES = Refusal("reads {} sequences at once: batches other than 1 are not supported")
LARGE_STATE = Refusal("begins with a hidden state beyond -1 to 1, which no Tanh gives: not supported")
CONSTANT_SEQUENCE = Refusal("has a constant sequence, and a state that is computed: not supported")
FIRST_STATES = 5, 6  # the operands
COMMON = ("activations", "clip", "direction")
IGNORED = ("activation_alpha", "activation_beta", "hidden_size", "layout")  # of other functions; known; composed
REFUSALS = (OTHER_FUNCTIONS, OTHER_STEPS, CLIPPED, SEVERAL_SEQUENCES, CONSTANT_SEQUENCE, LARGE_STATE)
LSTM_REFUSALS = (*REFUSALS, PEEPHOLES, COUPLED)


@operator(
    "LSTM",
    attributes=(*COMMON, "input_forget"),
    ignored=IGNORED,
    layers=(Recurrent, Concat),
    refusals=LSTM_REFUSALS,
    joins=True,
)
def lstm(node: Node, builder: GraphBuilder) -> tuple[Tensor, ...]:
    """Long short-term memory over the steps of a sequence."""
    if node.attributes.get("input_forget", 0):
        raise node.error(COUPLED)
    peepholes = node.optional(7)
    if peepholes is not None and peepholes.any():
        raise node.error(PEEPHOLES)
    return _directions(node, builder, Cell.LSTM)


@operator(
    "GRU",
    attributes=(*COMMON, "linear_before_reset"),
    ignored=IGNORED,
    layers=(Recurrent, Concat),
    refusals=REFUSALS,
    joins=True,
)
def gru(node: Node, builder: GraphBuilder) -> tuple[Tensor, ...]:
    """Gated recurrent unit over the steps of a sequence."""
    return _directions(node, builder, Cell.GRU, resets_product=bool(node.attributes.get("linear_before_reset", 0)))


@operator("RNN", attributes=COMMON, ignored=IGNORED, layers=(Recurrent, Concat), refusals=REFUSALS, joins=True)
def rnn(node: Node, builder: GraphBuilder) -> tuple[Tensor, ...]:
    """Recurrent layer with Tanh or Relu over the steps of a sequence."""
    return _directions(node, builder, Cell.RNN)


def _directions(node: Node, builder: GraphBuilder, cell: Cell, **fields: Any) -> tuple[Tensor, ...]:  # noqa: ANN401 - of Recurrent
    """Add a layer for each direction, and what joins two; return all hidden states, the last ones, and the cell states.

    The last cell states are computed by layers of their own.
    """
    if node.attributes.get("clip", 0):
        raise node.error(CLIPPED)
    x = node.operands[0]
    if not isinstance(x, Tensor):
        raise node.error(CONSTANT_SEQUENCE)
    steps, batch, _ = x.layout.shape
    if batch != 1:
        raise node.error(SEVERAL_SEQUENCES, batch)
    lengths = node.optional(4)
    if lengths is not None and (lengths != steps).any():
        raise node.error(OTHER_STEPS, ", ".join(map(str, lengths.ravel())), steps)
    source, in_shape = _map_of(node, builder, replace(x, layout=x.layout.transpose((1, 2, 0))))
    wants_all, wants_last, wants_cell = (bool(name and builder.readers[name]) for name in (*node.outputs, "", "")[:3])
    layers = [
        _layer(node, builder, cell, number, inputs=(source,), in_shape=in_shape, only_last=not wants_all, **fields)
        for number in range(len(node.constant(1)))
    ]
    found: list[Tensor] = []
    if wants_all or wants_last:
        added, joined = _added(builder, layers, node.outputs[0 if wants_all else 1])
        found += _outputs(added, joined, steps, only_last=not wants_all)
    if wants_cell:
        cells = [replace(layer, gives_cell=True, name=f"{layer.name} cell state") for layer in layers]
        added, joined = _added(builder, cells, node.outputs[2])
        found = [*(found or _outputs(added, joined, steps, only_last=True)), *_last(added, joined)]
    return tuple(found)


def _layer(node: Node, builder: GraphBuilder, cell: Cell, number: int, **fields: Any) -> Recurrent:  # noqa: ANN401 - of Recurrent
    """Return the layer of a direction, without its place in the network."""
    weights_x, weights_h = node.constant(1)[number], node.constant(2)[number]
    units = weights_h.shape[1]
    direction = node.attributes.get("direction", b"forward").decode()
    bias = _of_direction(node, 3, number, (2 * cell.gates * units,))
    states = [_first_state(node, builder, index, number, units) for index in FIRST_STATES[: 1 + (cell is Cell.LSTM)]]
    constant = [np.zeros(units) if isinstance(state, str) else state for state in (*states, np.zeros(0))][:2]
    given = [isinstance(state, str) for state in (*states, None)][:2]
    functions = _functions(node, cell, number)
    if functions[-1] == "tanh" and np.abs(constant[0]).max(initial=0.0) > 1:
        raise node.error(LARGE_STATE)
    inputs = (*fields.pop("inputs"), *(state for state in states if isinstance(state, str)))
    return Recurrent(
        name=node.name,
        inputs=inputs,
        output="",
        cell=cell,
        weights_x=weights_x.astype(np.float32),
        weights_h=weights_h.astype(np.float32),
        bias_x=bias[: cell.gates * units].astype(np.float32),
        bias_h=bias[cell.gates * units :].astype(np.float32),
        first_h=constant[0].astype(np.float32),
        first_c=constant[1].astype(np.float32),
        given_h=given[0],
        given_c=given[1],
        is_relu=functions[-1] == "relu",
        reverse=direction == "reverse" or number == 1,
        **fields,
    )


def _first_state(node: Node, builder: GraphBuilder, index: int, number: int, units: int) -> Constant | str:
    """Return the first state of a direction: constants, or the name of an activation."""
    operand = node.operands[index] if index < len(node.operands) else None
    if not isinstance(operand, Tensor):
        return np.asarray(_of_direction(node, index, number, (1, units))[0])
    own = Layout(operand.layout.order[number].reshape(1, units, 1))
    return _map_of(node, builder, replace(operand, layout=own))[0]


def _map_of(node: Node, builder: GraphBuilder, tensor: Tensor) -> tuple[str, Shape]:
    """Return the name and shape of an operand in the order of its layout, which is moved where it lies otherwise."""
    producer, shape, _ = builder.as_map(replace(node, operands=(tensor,), names=(tensor.name,)))
    return builder.source(producer), shape


def _added(builder: GraphBuilder, layers: Sequence[Recurrent], value: str) -> tuple[Sequence[Recurrent], Layer]:
    """Add the layers that compute an ONNX value, and what joins those of two directions; return both."""
    if len(layers) == 1:
        only = replace(layers[0], output=value)
        builder.append(only)
        return [only], builder.layers[-1]
    added = []
    for number, layer in enumerate(layers):
        own = builder.unused(f"{layer.name} {'backwards' if number else 'forwards'}")
        added.append(replace(layer, name=own, output=own, moves=value))
        builder.append(added[-1])
    return added, _joined(builder, layers[0].name, added, value)


def _joined(builder: GraphBuilder, name: str, layers: Sequence[Layer], value: str) -> Layer:
    """Add what joins the states of both directions, step by step."""
    first, second = layers
    layer = Concat(
        name=name,
        inputs=(first.output, second.output),
        output=value,
        in_shape=first.out_shape,
        other_shapes=(second.out_shape,),
    )
    return builder.append(layer)


def _outputs(layers: Sequence[Recurrent], producer: Layer, steps: int, *, only_last: bool) -> tuple[Tensor, Tensor]:
    """Return all hidden states, of which nobody reads the whole if the layers have `only_last`, and the last ones.

    Their axes are steps, directions, batch and units.
    """
    states = _states(layers, producer)
    if only_last:
        states = np.broadcast_to(states, (steps, *states.shape[1:]))
    return Tensor(Layout(states), producer=producer), *_last(layers, producer)


def _last(layers: Sequence[Recurrent], producer: Layer) -> tuple[Tensor]:
    """Return the states behind the last step of each direction: directions, batch and units."""
    states = _states(layers, producer)
    last = np.stack([states[0 if layer.reverse else -1, number] for number, layer in enumerate(layers)])
    return (Tensor(Layout(last), producer=producer),)


def _states(layers: Sequence[Recurrent], producer: Layer) -> IndexArray:
    return np.arange(producer.out_shape.size).reshape(-1, len(layers), 1, layers[0].units)


def _of_direction(node: Node, index: int, number: int, shape: tuple[int, ...]) -> Constant:
    """Return the constants of a direction, 0 where the node has none."""
    values = node.optional(index)
    return np.zeros(shape) if values is None else np.asarray(values[number])


def _functions(node: Node, cell: Cell, number: int) -> tuple[str, ...]:
    """Return the functions of the gates of a direction, in lower case."""
    usual = FUNCTIONS[cell]
    given = [name.decode().lower() for name in node.attributes.get("activations", [])]
    own = tuple(given[number * len(usual) : (number + 1) * len(usual)]) or usual
    if own != usual and not (cell is Cell.RNN and own == ("relu",)):
        raise node.error(OTHER_FUNCTIONS, ", ".join(own))
    return own
