"""The operators of .tflite files in their translations. It imports no parser of such files, which takes 0.1 s."""

from onnx import ModelProto

KIND = "tinysplit.tflite"  # metadata of nodes: the operator that they are the translation of


def operators_of(model: ModelProto) -> dict[str, str]:
    """Return the operators of the .tflite file that a model is the translation of, by the names of its nodes."""
    kinds = ((node.name, each.value) for node in model.graph.node for each in node.metadata_props if each.key == KIND)
    return dict(kinds)
