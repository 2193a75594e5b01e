"""States that boards keep: recurrent layers that begin with what they ended with, without an input and an output."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tinysplit.common.errors import InputError
from tinysplit.network.ends import NetworkInput, NetworkOutput
from tinysplit.network.layers import Concat, Layer, Permute, Recurrent
from tinysplit.onnx_import.layout import IndexArray


def keeping_states(
    layers: Sequence[Layer],
    inputs: Sequence[NetworkInput],
    outputs: Sequence[NetworkOutput],
    states: Mapping[str, str],
) -> list[Layer]:
    """Return the layers, of which those that begin with `states` (input: output) keep them.

    Raises InputError for states that are not those of recurrent layers: an element of the input is an element of the
    first state of a layer, and that of the output at its place the same one of its last state.
    """
    numbers = _numbers(layers, inputs)
    followers: dict[int, int] = {}  # the number of an element of an input: that of its next value
    for end in inputs:
        if end.name in states:
            last = next(output for output in outputs if output.name == states[end.name])
            if last.size != end.size:
                raise InputError(
                    f"the state '{end.name}' has {end.size} elements, but its next value '{last.name}' has {last.size}"
                )
            followers |= zip(
                numbers[end.name][np.argsort(end.order)].tolist(), numbers[last.value][last.order].tolist(), strict=True
            )
    kept = list(layers)
    for index, layer in enumerate(layers):
        if not isinstance(layer, Recurrent) or not (layer.given_h or layer.given_c):
            continue
        given = [numbers[name].tolist() for name in layer.inputs[1:]]
        named = [all(number in followers for number in own) for own in given]
        if not any(named):
            continue
        if not all(named) or len(given) != _state_count(layer):
            raise InputError(f"layer '{layer.name}' begins with several states: keep all of them, or none")
        for own, states_behind in zip(given, _last_states(layer, layers, numbers), strict=True):
            if [followers[number] for number in own] not in states_behind:
                raise InputError(
                    f"layer '{layer.name}' does not begin with its own last state, which another layer or a function "
                    f"of it gives: of the kept states {_text(states)} leave its own out"
                )
        kept[index] = replace(layer, inputs=layer.inputs[:1], given_h=False, given_c=False, keeps_state=True)
    return kept


def check_unread(layers: Sequence[Layer], states: Mapping[str, str]) -> None:
    """Raise InputError for a state that a layer still reads."""
    for layer in layers:
        read = next((name for name in layer.inputs if name in states), None)
        if read is not None:
            raise InputError(
                f"layer '{layer.name}' reads the state '{read}', which only recurrent layers can keep (LSTM, GRU, RNN, "
                f"as their first state): of the kept states {_text(states)} leave it out"
            )


def _state_count(layer: Recurrent) -> int:
    return 1 + (layer.cell.value == "lstm")


def _last_states(
    layer: Recurrent, layers: Sequence[Layer], numbers: Mapping[str, IndexArray]
) -> Iterator[list[list[int]]]:
    """Yield the numbers of the elements of the last hidden state, then of the last cell state, in all their copies."""
    same = [
        each
        for each in layers
        if isinstance(each, Recurrent) and each.inputs == layer.inputs and each.weights_x is layer.weights_x
    ]
    for gives_cell in range(_state_count(layer)):
        own = [each for each in same if each.gives_cell == bool(gives_cell)]
        states = ((each, numbers[each.output].reshape(-1, each.units)) for each in own)
        yield [values[0 if each.reverse else -1].tolist() for each, values in states]


def _numbers(layers: Sequence[Layer], inputs: Sequence[NetworkInput]) -> Mapping[str, IndexArray]:
    """Return a number for every element in memory, the same one for its copies."""
    numbers: dict[str, IndexArray] = {}
    count = 0
    sizes = {end.name: end.size for end in inputs} | {each.output: each.out_shape.size for each in layers}
    for name, size in sizes.items():
        numbers[name] = np.arange(count, count + size)
        count += size
    for layer in layers:
        if isinstance(layer, Permute):
            numbers[layer.output] = numbers[layer.inputs[0]][layer.order]
        elif isinstance(layer, Concat):
            pieces = [numbers[name].reshape(shape) for name, shape in zip(layer.inputs, layer.in_shapes, strict=True)]
            numbers[layer.output] = np.concatenate(pieces, axis=-1).ravel()
    return numbers


def _text(states: Mapping[str, str]) -> str:
    return ", ".join(f"{first}={last}" for first, last in states.items())
