"""LSTM, GRU and RNN over a fixed number of steps, with one direction or two."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinysplit.network.layers import Cell, Concat, Layer, Recurrent
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
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
CELL_STATE = Refusal("gives its last cell state: not supported")
COMMON = ("activations", "clip", "direction")
IGNORED = ("activation_alpha", "activation_beta", "hidden_size", "layout")  # of other functions; known; composed
REFUSALS = (OTHER_FUNCTIONS, OTHER_STEPS, CLIPPED, SEVERAL_SEQUENCES, LARGE_STATE)
LSTM_REFUSALS = (*REFUSALS, PEEPHOLES, COUPLED, CELL_STATE)


@operator(
    "LSTM", attributes=(*COMMON, "input_forget"), ignored=IGNORED, layers=(Recurrent, Concat), refusals=LSTM_REFUSALS
)
def lstm(node: Node, builder: GraphBuilder) -> tuple[Tensor, ...]:
    """Long short-term memory over the steps of a sequence."""
    if node.attributes.get("input_forget", 0):
        raise node.error(COUPLED)
    peepholes = node.optional(7)
    if peepholes is not None and peepholes.any():
        raise node.error(PEEPHOLES)
    if len(node.outputs) > 2 and builder.readers[node.outputs[2]]:  # noqa: PLR2004 - all states, and the last ones of both kinds
        raise node.error(CELL_STATE)
    return _directions(node, builder, Cell.LSTM)


@operator(
    "GRU", attributes=(*COMMON, "linear_before_reset"), ignored=IGNORED, layers=(Recurrent, Concat), refusals=REFUSALS
)
def gru(node: Node, builder: GraphBuilder) -> tuple[Tensor, ...]:
    """Gated recurrent unit over the steps of a sequence."""
    return _directions(node, builder, Cell.GRU, resets_product=bool(node.attributes.get("linear_before_reset", 0)))


@operator("RNN", attributes=COMMON, ignored=IGNORED, layers=(Recurrent, Concat), refusals=REFUSALS)
def rnn(node: Node, builder: GraphBuilder) -> tuple[Tensor, ...]:
    """Recurrent layer with Tanh or Relu over the steps of a sequence."""
    return _directions(node, builder, Cell.RNN)


def _directions(node: Node, builder: GraphBuilder, cell: Cell, **fields: Any) -> tuple[Tensor, ...]:  # noqa: ANN401 - of Recurrent
    """Add a layer for each direction, and what joins two; return all hidden states and the last ones."""
    if node.attributes.get("clip", 0):
        raise node.error(CLIPPED)
    x = node.tensor.layout
    steps, batch, _ = x.shape
    if batch != 1:
        raise node.error(SEVERAL_SEQUENCES, batch)
    lengths = node.optional(4)
    if lengths is not None and (lengths != steps).any():
        raise node.error(OTHER_STEPS, ", ".join(map(str, lengths.ravel())), steps)
    producer, in_shape, _ = builder.as_map(node.reading(x.transpose((1, 2, 0))))
    source = builder.source(producer)
    direction = node.attributes.get("direction", b"forward").decode()
    weights_x, weights_h = node.constant(1), node.constant(2)
    count, units = len(weights_x), weights_h.shape[2]
    only_last = not (node.output and builder.readers[node.output])
    name = node.outputs[1] if only_last else node.output
    layers: list[Layer] = []
    for number in range(count):
        reverse = direction == "reverse" or number == 1
        bias = _of_direction(node, 3, number, (2 * cell.gates * units,))
        first_h = _of_direction(node, 5, number, (1, units))[0]
        first_c = _of_direction(node, 6, number, (1, units))[0] if cell is Cell.LSTM else np.zeros(0)
        functions = _functions(node, cell, number)
        if functions[-1] == "tanh" and np.abs(first_h).max(initial=0.0) > 1:
            raise node.error(LARGE_STATE)
        own = builder.unused(f"{node.name} {'backwards' if number else 'forwards'}") if count > 1 else name
        layer = Recurrent(
            name=own if count > 1 else node.name,
            inputs=(source,),
            output=own,
            moves=name if count > 1 else None,
            in_shape=in_shape,
            cell=cell,
            weights_x=weights_x[number].astype(np.float32),
            weights_h=weights_h[number].astype(np.float32),
            bias_x=bias[: cell.gates * units].astype(np.float32),
            bias_h=bias[cell.gates * units :].astype(np.float32),
            first_h=first_h.astype(np.float32),
            first_c=first_c.astype(np.float32),
            is_relu=functions[-1] == "relu",
            reverse=reverse,
            only_last=only_last,
            **fields,
        )
        layers.append(builder.append(layer))
    joined = layers[0] if count == 1 else _joined(node, builder, layers, name)
    return _outputs(layers, joined, steps, only_last=only_last)


def _joined(node: Node, builder: GraphBuilder, layers: list[Layer], name: str) -> Layer:
    """Add what joins the states of both directions, step by step."""
    first, second = layers
    layer = Concat(
        name=node.name,
        inputs=(first.output, second.output),
        output=name,
        in_shape=first.out_shape,
        other_shapes=(second.out_shape,),
    )
    return builder.append(layer)


def _outputs(layers: Sequence[Layer], producer: Layer, steps: int, *, only_last: bool) -> tuple[Tensor, Tensor]:
    """Return all hidden states, of which nobody reads the whole if the layers have `only_last`, and the last ones.

    Their axes are steps, directions, batch and units.
    """
    directions = [isinstance(layer, Recurrent) and layer.reverse for layer in layers]
    states = np.arange(producer.out_shape.size).reshape(-1, len(layers), 1, layers[0].out_shape.channels)
    last = np.stack([states[0 if reverse else -1, number] for number, reverse in enumerate(directions)])
    if only_last:
        states = np.broadcast_to(states, (steps, *states.shape[1:]))
    return Tensor(Layout(states), producer=producer), Tensor(Layout(last), producer=producer)


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
