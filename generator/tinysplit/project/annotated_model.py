"""The split in the metadata of an ONNX file, which Netron shows."""

from collections.abc import Iterator, Mapping

import onnx

from tinysplit.common.output_file import version_mark
from tinysplit.network.graph import Graph
from tinysplit.network.onnx_file.integer_operators import name_in_file
from tinysplit.project.manifest import Project
from tinysplit.project.network_numbers import cut_number, layer_number

METADATA_IR_VERSION = 10  # of ONNX, the first in which nodes have metadata


def annotated_model(project: Project, graph: Graph, model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of `model`, the network of `project`, with the split in its metadata and in that of its nodes.

    The model has the boards. A node has the layer that it is a part of, the boards of that, and its cuts.
    """
    annotated = onnx.ModelProto()
    annotated.CopyFrom(model)
    annotated.ir_version = max(model.ir_version, METADATA_IR_VERSION)
    annotated.doc_string = "\n".join(filter(None, (version_mark(), model.doc_string)))  # at the begin of the file
    for number in project.slowest.boards:
        annotated.metadata_props.add(key=f"tinysplit.board {number}", value=project.board(number).name)
    layers = _layers_of_nodes(graph, annotated)
    for node in annotated.graph.node:
        for key, value in _notes(project, graph, layers.get(node.output[0], 0)):
            node.metadata_props.add(key=f"tinysplit.{key}", value=value)
    return annotated


def _layers_of_nodes(graph: Graph, model: onnx.ModelProto) -> Mapping[str, int]:
    """Return the number of the layer of each node, by its first output: nodes between the layer's inputs and output."""
    producers = {name: node for node in model.graph.node for name in node.output}
    layers: dict[str, int] = {}
    for number, layer in enumerate(graph.layers, 1):
        waiting = [name_in_file(layer.output)]
        inputs = {name_in_file(name) for name in layer.inputs}
        while waiting:
            node = producers.get(waiting.pop())
            if node is not None and node.output[0] not in layers:
                layers[node.output[0]] = number
                waiting += [name for name in node.input if name not in inputs]
    return layers


def _notes(project: Project, graph: Graph, number: int) -> Iterator[tuple[str, str]]:
    """Yield what the metadata has of layer `number`; nothing of 0."""
    if not number:
        return
    yield "layer", f"{number} {graph.layers[number - 1].name}"
    layers = (layer for layer in project.slowest.layers if layer_number(layer) == number)
    boards = (f"{project.board(each.board).title}{f' {each.part}' if each.part else ''}" for each in layers)
    yield "board", ", ".join(boards)
    for cut in project.slowest.cuts:
        if cut_number(cut) == number:
            yield f"cut {cut.number}", f"{cut.payload_bytes} bytes from board {cut.from_board} to {cut.to_board}"
