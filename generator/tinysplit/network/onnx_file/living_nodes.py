"""The nodes of an ONNX model that its outputs depend on, each behind those that it depends on."""

from collections.abc import Iterable, Iterator, Sequence

from onnx import ModelProto, NodeProto


def sort_nodes(model: ModelProto) -> None:
    """Bring the nodes into a topological order, that of the file as far as it is one."""
    nodes = list(model.graph.node)
    writers = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    seen: set[int] = set()
    ordered: dict[int, NodeProto] = {}
    for first in range(len(nodes)):
        waiting = [first]
        while waiting:
            number = waiting[-1]
            before = [writers[name] for name in _read(nodes[number]) if name in writers]
            new = [] if number in seen else [each for each in reversed(before) if each not in seen]
            seen.add(number)
            if new:
                waiting.extend(new)
            else:
                ordered.setdefault(number, nodes[number])
                waiting.pop()
    del model.graph.node[:]
    model.graph.node.extend(ordered.values())


def keep_living_nodes(model: ModelProto) -> None:
    """Remove all other nodes, which ONNX Runtime would compute if they read constants only."""
    sort_nodes(model)
    living = needed_nodes(model.graph.node, (output.name for output in model.graph.output))
    del model.graph.node[:]
    model.graph.node.extend(living)


def needed_nodes(nodes: Sequence[NodeProto], values: Iterable[str]) -> list[NodeProto]:
    """Return those of `nodes`, which are in a topological order, that `values` depend on."""
    needed = set(values)
    found = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(_read(node))
            found.append(node)
    return found[::-1]


def _read(node: NodeProto) -> Iterator[str]:
    """Yield the names of the values that a node reads, also in its bodies; some of those are their own."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _read(inner)
