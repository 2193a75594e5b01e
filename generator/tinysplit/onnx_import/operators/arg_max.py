"""ArgMax: the number of the largest element along an axis, which is moved to the channels."""

from tinysplit.network.layers import ArgMax
from tinysplit.onnx_import.graph_builder import MAP_RANK, GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor
from tinysplit.onnx_import.operators.declaration import operator


@operator("ArgMax", attributes=("axis", "keepdims", "select_last_index"), layers=(ArgMax,))
def arg_max(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `ArgMax`, after a reordering where the axis is not that of the channels."""
    layout, rank = node.tensor.layout, node.rank
    axis = node.attributes.get("axis", 0) % rank
    batch, *others = [other for other in range(rank) if other != axis] or [axis]
    is_map = rank == MAP_RANK and layout.shape[batch] == 1
    pixels = [layout.shape[other] for other in others] if is_map else [-1]
    moved = layout.transpose((axis, *(other for other in (batch, *others) if other != axis)))
    moved = moved.reshape((1, layout.shape[axis], *pixels))
    producer, in_shape, _ = builder.as_map(node.reading(moved))
    layer = ArgMax(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        picks_last=bool(node.attributes.get("select_last_index", 0)),
    )
    keeps = node.attributes.get("keepdims", 1)
    sizes = [1 if other == axis else layout.shape[other] for other in range(rank) if keeps or other != axis]
    return Tensor(Layout.of_map(layer.out_shape, len(pixels)).reshape(sizes), builder.append(layer))
