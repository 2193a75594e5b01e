"""The nodes of an ONNX model that its outputs depend on."""

from onnx import ModelProto


def keep_living_nodes(model: ModelProto) -> None:
    """Remove all other nodes, which ONNX Runtime would compute if they read constants only."""
    needed = {output.name for output in model.graph.output}
    living = []
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            living.append(node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(living))
