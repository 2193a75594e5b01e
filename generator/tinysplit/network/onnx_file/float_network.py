"""The network of a file as one of float operators, which the import reads and ONNX Runtime runs."""

from onnx import ModelProto

from tinysplit.network.ends import IntegerInput
from tinysplit.network.onnx_file.composed_operators import with_composed_operators
from tinysplit.network.onnx_file.computed_sizes import with_known_sizes
from tinysplit.network.onnx_file.integer_ends import with_float_ends
from tinysplit.network.onnx_file.integer_operators import with_float_operators
from tinysplit.network.onnx_file.loops import with_recurrent_loops
from tinysplit.network.onnx_file.masks import with_masks_apart
from tinysplit.network.onnx_file.sample_axes import with_samples_first


def as_float_network(model: ModelProto) -> dict[str, IntegerInput]:
    """Let `model`, whose nodes are in a topological order, have float operators alone, and float inputs and outputs.

    Returns what inputs were, by name, without float ones. Quantized networks are then in QDQ format. Raises InputError
    for integers that stand for no floats, and where ONNX's converter does not know an operator.
    """
    with_float_operators(model)
    with_recurrent_loops(model)
    with_known_sizes(model)
    with_composed_operators(model)
    with_samples_first(model)
    with_masks_apart(model)
    return with_float_ends(model)
