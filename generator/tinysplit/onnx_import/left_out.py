"""The part without which the rest of a network can be imported: its end or its beginning, with few weights."""

from collections.abc import Collection, Iterable
from math import prod
from pathlib import Path

from onnx import ModelProto, NodeProto

from tinysplit.network.onnx_file.composed_operators import SHAPES
from tinysplit.network.onnx_file.living_nodes import needed_nodes
from tinysplit.network.onnx_file.model_source import parse_source, read_source

MOST_OF_WEIGHTS = 0.01  # that a head or a preprocessing may have of the network's parameters

Nodes = list[NodeProto]


def can_be_left_out(path: Path, model: ModelProto, missing: Collection[str], unknown: Collection[str]) -> str:
    """Return how the rest of `model`, the file `path`, can be imported; empty if it cannot.

    `missing` are outputs of nodes that are not supported, `unknown` values of which nothing can be said for that.
    """
    graph = model.graph
    constants: dict[str, int] = {tensor.name: prod(tensor.dims) for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in constants]
    outputs = [value.name for value in graph.output]
    every = sum(constants.values())

    def are_light(nodes: Nodes) -> bool:
        weights = sum(constants.get(name, 0) for name in {name for node in nodes for name in node.input})
        return every > 0 and weights <= MOST_OF_WEIGHTS * every

    computed = _followers(graph.node, inputs)
    end = _followers(computed, missing)
    last = _in_order(_others(computed, end), _read(end) | set(outputs))
    if are_light(end) and last:
        read = _read(needed_nodes(computed, last))
        return _said("end", path, [name for name in inputs if name in read], last)
    beginning = needed_nodes(computed, missing)
    rest = _others(computed, beginning)
    first = _in_order(beginning, _read(rest))
    if are_light(beginning) and first and not unknown and set(outputs) <= {o for node in rest for o in node.output}:
        return _said("beginning", path, [*(name for name in inputs if name in _read(rest)), *first], outputs)
    return ""


def _read(nodes: Nodes) -> set[str]:
    return {name for node in nodes for name in node.input}


def _said(which: str, path: Path, first: list[str], last: list[str]) -> str:
    in_file = parse_source(path, read_source(path)).graph
    known = {name for node in in_file.node for name in (*node.input, *node.output)}
    if not known.issuperset((*first, *last)):  # values that came with operators composed of others
        return ""
    how = ""
    if path.suffix == ".onnx":
        how = f": onnx.utils.extract_model('{path.name}', 'part.onnx', {first}, {last})"
    values = ", ".join(f"'{name}'" for name in (last if which == "end" else first))
    return f"; the network without its {which}, {'up to' if which == 'end' else 'from'} {values}, can be imported{how}"


def _followers(nodes: Iterable[NodeProto], values: Collection[str]) -> Nodes:
    """Return the nodes that compute or read `values`, and those that depend on their elements."""
    found, known = [], set(values)
    for node in nodes:
        if node.op_type not in SHAPES and not known.isdisjoint((*node.input, *node.output)):
            known.update(filter(None, node.output))
            found.append(node)
    return found


def _others(nodes: Iterable[NodeProto], left_out: Nodes) -> Nodes:
    outputs = {name for node in left_out for name in node.output}
    return [node for node in nodes if outputs.isdisjoint(node.output)]


def _in_order(nodes: Nodes, values: Collection[str]) -> list[str]:
    """Return those of `values` that the nodes compute."""
    return [name for node in nodes for name in node.output if name in values]
