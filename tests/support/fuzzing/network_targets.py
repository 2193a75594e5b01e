"""ONNX files: changed bytes, and changed nodes, tensors, attributes and names."""

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from pathlib import Path
from random import Random

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from fuzzing.files import from_file, scratch_folder
from fuzzing.target import Target
from models.onnx_builder import OnnxBuilder
from tinysplit.onnx_import import import_model
from tinysplit.onnx_import.operators import OPERATORS

_RNG = np.random.default_rng(0)


def _values(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return _RNG.normal(size=shape).astype(np.float32)


def _convolutions() -> ModelProto:
    net = OnnxBuilder([1, 3, 8, 8])
    net.node("Conv", net.constant(_values(4, 3, 3, 3)), net.constant(_values(4)), pads=[1, 1, 1, 1], strides=[2, 2])
    net.node("BatchNormalization", *(net.constant(np.abs(_values(4))) for _ in range(4)))
    net.node("Clip", net.constant(0.0), net.constant(6.0))
    net.node("Conv", net.constant(_values(4, 1, 3, 3)), group=4, pads=[0, 0, 1, 1])
    net.node("PRelu", net.constant(_values(4, 1, 1)))
    net.node("ConvTranspose", net.constant(_values(4, 2, 2, 2)), strides=[2, 2])
    net.node("AveragePool", kernel_shape=[2, 2], pads=[0, 1, 0, 1], count_include_pad=1)
    net.node("GlobalAveragePool")
    net.node("Flatten")
    net.node("Gemm", net.constant(_values(3, 2)), net.constant(_values(3)), transB=1, alpha=0.5)
    net.node("Softmax", axis=1)
    return net.model()


def _branches() -> ModelProto:
    net = OnnxBuilder([1, 4, 6, 6], opset=18)
    first = net.node("Conv", net.constant(_values(4, 4, 1, 1)))
    net.node("Relu")
    second = net.node("MaxPool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    net.node("Add", first)
    net.node("Concat", second, axis=1)
    net.node("Mul", net.constant(_values(8, 1, 1)))
    net.node("Pad", net.shape(0, 0, 1, 1, 0, 0, 0, 0), net.constant(0.0))
    net.node("Conv", net.constant(_values(8, 8, 1, 1)))
    net.node("Transpose", perm=[0, 2, 3, 1])
    net.node("Reshape", net.shape(1, -1))
    net.node("MatMul", net.constant(_values(392, 3)))
    net.node("HardSigmoid", alpha=0.2)
    return net.model()


def _constants() -> ModelProto:
    """Return a network that computes sizes and weights from constants."""
    net = OnnxBuilder([1, 2, 4, 4], opset=17)
    value = net.value
    net.value = net.shape(2, 2, 1, 1)
    shape = net.value
    net.node("Gather", net.constant([0, 1, 2, 3], np.int64), axis=0)
    weights = net.node("ConstantOfShape", value=numpy_helper.from_array(np.array([0.5], np.float32)))
    net.value = shape
    sizes = net.node("Slice", net.shape(0), net.shape(1))
    net.value = sizes
    net.node("Concat", net.shape(-1), axis=0)
    target = net.node("Cast", to=TensorProto.INT64)
    net.value = value
    net.node("Conv", weights)
    net.node("Resize", "", net.constant([1, 1, 2, 2]), mode="nearest")
    net.node("ReduceMean", axes=[2, 3], keepdims=0)
    net.node("Reshape", target)
    return net.model()


def _quantized() -> ModelProto:
    """Return a network in QDQ format."""
    net = OnnxBuilder([1, 2, 4, 4])

    def quantized(value: str, kind: type[np.generic] = np.int8) -> str:
        scale, zero = net.constant(0.05), net.constant(0, kind)
        net.value = value
        net.node("QuantizeLinear", scale, zero)
        return net.node("DequantizeLinear", scale, zero)

    def weights(*shape: int) -> str:
        net.value = net.constant(_RNG.integers(-9, 9, shape), np.int8)
        return net.node(
            "DequantizeLinear", net.constant(np.full(shape[0], 0.1)), net.constant(np.zeros(shape[0]), np.int8), axis=0
        )

    kernel, value = weights(3, 2, 3, 3), quantized("x")
    net.value = value
    net.node("Conv", kernel, pads=[1, 1, 1, 1])
    quantized(net.node("Relu"))
    net.node("Flatten")
    net.node("Gemm", net.constant(_values(48, 2)))
    quantized(net.value)
    return net.model()


def _outside() -> ModelProto:
    """Return a network with weights in the file that lies beside it, which has 64 bytes."""
    net = OnnxBuilder([1, 4])
    net.node("Gemm", net.constant(_values(4, 4)))
    model = net.model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "weights.data", "offset": "0", "length": "64"}.items():
        tensor.external_data.add(key=key, value=value)
    return model


def _old() -> ModelProto:
    net = OnnxBuilder([1, 2, 4], opset=9)
    net.node("Conv", net.constant(_values(3, 2, 3)), pads=[1, 1])
    net.node("LeakyRelu", alpha=0.1)
    net.node("Upsample", net.constant([1, 1, 2]), mode="nearest")
    net.node("Clip", min=0.0, max=6.0)
    return net.model()


@cache
def _seeds() -> Sequence[bytes]:
    makers: Sequence[Callable[[], ModelProto]] = (_convolutions, _branches, _constants, _quantized, _outside, _old)
    return [make().SerializeToString() for make in makers]


_CONSTANT = (
    *("Shape", "Gather", "ConstantOfShape", "Cast", "Range", "Expand", "Tile", "Slice", "Squeeze", "Unsqueeze", "Loop"),
    *(
        "If",
        "Identity",
        "Constant",
        "Einsum",
        "MatMul",
        "NonZero",
        "OneHot",
        "Split",
        "Where",
        "Mod",
        "Pow",
        "Sequence",
    ),
)
_NUMBERS = (0, 1, -1, 2, 3, 7, 255, 2**20, 2**31 - 1, 2**31, 2**62, -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e38, 1e-45, float("nan"), float("inf"))
_WORDS = ("", "absent", "x", "a\nb", "\x1b[2J", "../x", "/etc/passwd", "weights.data", "NOTSET", "SAME_UPPER", "linear")


def changed_model(random: Random, content: bytes) -> bytes:
    """Return a model with one to three nodes, tensors, values or names changed."""
    model = ModelProto()
    try:
        model.ParseFromString(content)
        for _ in range(1 + int(random.random() ** 2 * 3)):
            random.choice(_CHANGES)(random, model)
        return bytes(model.SerializeToString())
    except (DecodeError, UnicodeDecodeError):  # of a mutated input that the corpus has
        return content


def _node(random: Random, model: ModelProto) -> NodeProto:
    node: NodeProto = random.choice(model.graph.node) if model.graph.node else model.graph.node.add()
    return node


def _tensor(random: Random, model: ModelProto) -> TensorProto:
    own = model.graph.initializer
    tensor: TensorProto = random.choice(own) if own else own.add()
    return tensor


def _names(model: ModelProto) -> list[str]:
    return [name for node in model.graph.node for name in (*node.input, *node.output)] + ["", "absent", "x"]


def _change_input(random: Random, model: ModelProto) -> None:
    node, name = _node(random, model), random.choice(_names(model))
    if node.input and random.random() < 0.7:
        node.input[int(random.random() * len(node.input))] = name
    else:
        node.input.append(name)


def _drop_input(random: Random, model: ModelProto) -> None:
    node = _node(random, model)
    if node.input:
        del node.input[int(random.random() * len(node.input))]


def _change_output(random: Random, model: ModelProto) -> None:
    node = _node(random, model)
    node.output[:] = [random.choice(_names(model)) for _ in range(int(random.random() * 3))]


def _change_operator(random: Random, model: ModelProto) -> None:
    node = _node(random, model)
    node.op_type = random.choice((*OPERATORS, *_CONSTANT, *_WORDS))
    if random.random() < 0.1:
        node.domain = random.choice((*_WORDS, "ai.onnx", "com.microsoft", "ai.onnx.ml"))


def _change_attribute(random: Random, model: ModelProto) -> None:
    node = _node(random, model)
    if not node.attribute:
        return
    attribute = random.choice(node.attribute)
    attribute.i, attribute.f = random.choice(_NUMBERS), random.choice(_FLOATS)
    attribute.s = random.choice(_WORDS).encode()
    count = len(attribute.ints) + random.choice((0, 0, 0, 1, -1))
    attribute.ints[:] = [random.choice(_NUMBERS) for _ in range(max(0, count))]
    if random.random() < 0.1:
        attribute.type = int(random.random() * 15)


def _add_attribute(random: Random, model: ModelProto) -> None:
    names = [each.name for node in model.graph.node for each in node.attribute] + list(_WORDS)
    value = random.choice((random.choice(_NUMBERS), random.choice(_FLOATS), random.choice(_WORDS), [1, 2], [0.5]))
    _node(random, model).attribute.append(
        helper.make_attribute(random.choice(names), value, attr_type=None if value != [] else 7)
    )


def _drop_attribute(random: Random, model: ModelProto) -> None:
    node = _node(random, model)
    if node.attribute:
        del node.attribute[int(random.random() * len(node.attribute))]


def _change_sizes(random: Random, model: ModelProto) -> None:
    tensor = _tensor(random, model)
    sizes = list(tensor.dims)
    if sizes and random.random() < 0.7:
        sizes[int(random.random() * len(sizes))] = random.choice(_NUMBERS)
    else:
        random.shuffle(sizes)
        sizes += [1] * int(random.random() * 3)
    tensor.dims[:] = sizes


def _change_values(random: Random, model: ModelProto) -> None:
    """Give a tensor other values, of its own shape or of another."""
    tensor = _tensor(random, model)
    kind = random.choice((np.float32, np.float32, np.int64, np.int8, np.uint8, np.float16, np.bool_, np.float64))
    shape = list(tensor.dims)
    if random.random() < 0.3 or not all(0 <= size < 50 for size in shape) or len(shape) > 4:
        shape = [int(random.random() * 4) for _ in range(int(random.random() * 4))]
    choices = _FLOATS if np.issubdtype(kind, np.floating) else (0, 1, 2, 127)
    with np.errstate(all="ignore"):
        values = np.array([random.choice(choices) for _ in range(prod(shape))], np.float64).astype(kind).reshape(shape)
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _change_type(random: Random, model: ModelProto) -> None:
    _tensor(random, model).data_type = int(random.random() * 27)


def _change_border(random: Random, model: ModelProto) -> None:
    values = random.choice((model.graph.input, model.graph.output, model.graph.value_info))
    value = random.choice(values) if values and random.random() < 0.8 else values.add(name=random.choice(_names(model)))
    kind = value.type.tensor_type
    dims = kind.shape.dim
    what = int(random.random() * 5)
    if what == 0:
        dims.add(dim_value=random.choice(_NUMBERS))
    elif what == 1 and dims:
        random.choice(dims).dim_value = random.choice(_NUMBERS)
    elif what == 2 and dims:
        random.choice(dims).dim_param = random.choice(_WORDS)
    elif what == 3:
        kind.elem_type = int(random.random() * 27)
    else:
        value.name = random.choice(_names(model))


def _change_order(random: Random, model: ModelProto) -> None:
    """Leave out a node, or repeat it elsewhere."""
    nodes = list(model.graph.node)
    if nodes:
        node = nodes.pop(int(random.random() * len(nodes)))
        at = int(random.random() * (len(nodes) + 1))
        nodes[at:at] = [node] * random.choice((0, 0, 1, 2, 30))
        del model.graph.node[:]
        model.graph.node.extend(nodes)


def _insert_node(random: Random, model: ModelProto) -> None:
    """Put an operator between two nodes."""
    at = int(random.random() * (len(model.graph.node) + 1))
    nodes = list(model.graph.node)
    source = random.choice(_names(model))
    new = helper.make_node(random.choice((*OPERATORS, *_CONSTANT)), [source], [f"new_{at}"], name="new")
    for node in nodes[at:]:
        for index, name in enumerate(node.input):
            if name == source:
                node.input[index] = f"new_{at}"
    del model.graph.node[:]
    model.graph.node.extend([*nodes[:at], new, *nodes[at:]])


def _change_name(random: Random, model: ModelProto) -> None:
    thing = random.choice((_node(random, model), _tensor(random, model), model.graph))
    thing.name = random.choice((*_WORDS, *_names(model)))


def _change_version(random: Random, model: ModelProto) -> None:
    if model.opset_import and random.random() < 0.8:
        random.choice(model.opset_import).version = random.choice((*range(6, 26), *_NUMBERS))
    else:
        model.ir_version = random.choice(_NUMBERS)


def _change_place(random: Random, model: ModelProto) -> None:
    """Put a tensor into another file, or change where it is there."""
    tensor = _tensor(random, model)
    if tensor.external_data and random.random() < 0.7:
        entry = random.choice(tensor.external_data)
        entry.value = random.choice(
            (*map(str, _NUMBERS), "64", "60", "1e3", *_WORDS, "a/../weights.data", "C:\\x", "weights.data/")
        )
    else:
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(
            key=random.choice(("location", "offset", "length", "checksum", "x")), value="weights.data"
        )


def _merge(random: Random, model: ModelProto) -> None:
    """Add nodes and tensors of another network."""
    other = onnx.load_model_from_string(random.choice(_seeds()))
    model.graph.initializer.extend(other.graph.initializer)
    model.graph.node.extend(other.graph.node[int(random.random() * len(other.graph.node)) :])


_CHANGES = (
    _change_input, _drop_input, _change_output, _change_operator, _change_attribute, _change_attribute, _add_attribute,
    _drop_attribute, _change_sizes, _change_values, _change_values, _change_type, _change_border, _change_order,
    _insert_node, _change_name, _change_version, _change_place, _merge,
)  # fmt: skip


def _imported(path: Path) -> object:
    """Import a network, every other one as for estimates, which need no weights."""
    data = path.parent / "weights.data"
    if not data.exists():
        data.write_bytes(bytes(64))
    return import_model(path, needs_weights=bool(path.stat().st_size % 2))


def network_targets() -> list[Target]:
    """Return the import of networks."""
    folder = scratch_folder() / "networks"
    folder.mkdir(exist_ok=True)
    parse = from_file("networks/network.onnx", _imported)
    return [
        Target("onnx-bytes", parse, _seeds),
        Target("onnx", parse, _seeds, changes=(changed_model,) * 6),
    ]
