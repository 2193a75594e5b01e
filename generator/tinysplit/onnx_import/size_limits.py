"""Limits of networks, which are checked before memory is allocated (docs/reference/security.md)."""

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

from onnx import GraphProto, ModelProto, TensorProto

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import CONSTANT_ELEMENTS, EXPANDED_ELEMENTS, MODEL_NODES, VALUE_ELEMENTS


def check_model_size(model: ModelProto, path: Path) -> None:
    """Raise InputError for too many nodes, or for sizes in the file that no board has the memory for."""
    if len(model.graph.node) > MODEL_NODES:
        n_nodes = len(model.graph.node)
        raise InputError(f"{path} has {n_nodes} nodes, the limit is {MODEL_NODES}: give a smaller network")
    count = 0
    for tensor in (*all_tensors(model), *(sparse.values for sparse in model.graph.sparse_initializer)):
        if min(tensor.dims, default=0) < 0:
            raise InputError(f"{path} has the tensor '{tensor.name}' with a negative size: export the network again")
        count += prod(tensor.dims)
    for value in model.graph.input:
        count += prod(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)
    if count > CONSTANT_ELEMENTS:
        raise InputError(
            f"{path} declares {count} weights and inputs, the limit is {CONSTANT_ELEMENTS}: give a smaller network"
        )


def all_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Yield the tensors of the network and of the attributes of its nodes, also of graphs in them."""
    yield from _tensors_of(model.graph)


def _tensors_of(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _tensors_of(inner)


def check_value_size(shape: Sequence[int]) -> None:
    """Raise InputError for the shape of a value that the network computes, with its batch, if it is too large."""
    count = prod(map(int, shape))
    if count > VALUE_ELEMENTS:
        text = "x".join(map(str, shape))
        raise InputError(
            f"the network computes a value of {text} elements, the limit is {VALUE_ELEMENTS}: give a smaller network"
        )


def check_expanded_size(name: str, count: int) -> None:
    """Raise InputError if groups of node `name` need more weights as one group than a small file may make of itself."""
    if count > EXPANDED_ELEMENTS:
        raise InputError(
            f"node '{name}' needs {count} weights when its groups become one, the limit is {EXPANDED_ELEMENTS}: give "
            "it fewer groups or channels"
        )
