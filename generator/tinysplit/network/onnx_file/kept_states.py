"""States that boards keep from one inference to the next: pairs of an input and an output, named in the ONNX file.

The file names them in its metadata (`metadata_props`), so that every command and a generated folder know them.
"""

from collections.abc import Mapping

import onnx
from onnx import ModelProto

from tinysplit.common.errors import InputError

KEY = "tinysplit.states"  # value: "input=output", one a line


def kept_states(model: ModelProto) -> dict[str, str]:
    """Return the outputs that are the next values of inputs, by these. Raises InputError for what the file lacks."""
    found = next((each.value for each in model.metadata_props if each.key == KEY), "")
    states = dict(tuple(line.rpartition("=")[::2]) for line in found.splitlines())
    _check(model, states)
    return states


def keep_states(model: ModelProto, states: Mapping[str, str]) -> None:
    """Name all states that are kept, in place of those of the file. Raises InputError for what the file lacks."""
    _check(model, states)
    onnx.helper.set_model_props(
        model,
        {each.key: each.value for each in model.metadata_props}
        | {KEY: "\n".join(f"{first}={last}" for first, last in states.items())},
    )


def _check(model: ModelProto, states: Mapping[str, str]) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.name for value in model.graph.input if value.name not in constants]
    outputs = [value.name for value in model.graph.output]
    for kind, named, known in (("input", states.keys(), inputs), ("output", states.values(), outputs)):
        unknown = next((name for name in named if name not in known), None)
        if unknown is not None:
            pairs = ", ".join(f"{first}={last}" for first, last in states.items())
            raise InputError(f"the kept states {pairs} name the {kind} '{unknown}': there are {', '.join(known)}")
        if len(set(named)) < len(states):
            twice = next(name for name in named if list(named).count(name) > 1)
            raise InputError(f"the {kind} '{twice}' is that of two kept states: give each its own")
        if len(named) == len(known):
            raise InputError(f"all {kind}s are kept states: a network needs another {kind}, which the host sees")
