"""Constants that are a mask and a bias at once, as attention with linear biases has them: they become two.

So the values behind the bias have a range of their own, without the large numbers of the mask.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tinysplit.network.onnx_file.integer_ends import constants_of

MASKED = -1e4  # what is lower masks


def with_masks_apart(model: ModelProto) -> None:
    """Replace each Add of such a constant by one of the bias and one of the mask."""
    constants = dict(constants_of(model))
    nodes = [each for node in model.graph.node for each in _apart(model, node, constants)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _apart(model: ModelProto, node: NodeProto, constants: Mapping[str, TensorProto]) -> Iterator[NodeProto]:
    """Yield the nodes that compute what a node does."""
    known = [name for name in node.input if name in constants]
    values = numpy_helper.to_array(constants[known[0]]) if node.op_type == "Add" and len(known) == 1 else np.zeros(1)
    masked = values <= MASKED
    if not masked.any() or not values[~masked].any():
        yield node
        return
    biased = f"{node.output[0]} before its mask"
    (value,) = (name for name in node.input if name not in constants)
    for before, after, numbers in (
        (value, biased, np.where(masked, 0, values)),
        (biased, node.output[0], np.where(masked, values, 0)),
    ):
        name = f"{after} constant"
        model.graph.initializer.append(numpy_helper.from_array(numbers.astype(values.dtype), name))
        yield helper.make_node("Add", [before, name], [after], name=node.name if after == node.output[0] else after)
