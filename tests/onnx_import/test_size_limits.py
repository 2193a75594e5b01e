"""Models from others: what needs more memory or time than the limits is refused before it does, and nothing outside
the model's folder is read."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import CONSTANT_OPERATIONS
from tinysplit.network.float_reference import run_float
from tinysplit.network.layers import Lookup
from tinysplit.network.onnx_file import model_source
from tinysplit.onnx_import import external_data, import_model, importer
from tinysplit.onnx_import.constant_budget import ConstantBudget
from tinysplit.onnx_import.pointwise import MOST_STEPS, Joined


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        import_model(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


def saved(model: ModelProto, folder: Path) -> Path:
    path = folder / "network.onnx"
    onnx.save(model, path)
    return path


def dense() -> OnnxBuilder:
    builder = OnnxBuilder([1, 4])
    builder.node("Gemm", builder.constant(weights(4, 2)), name="dense")
    return builder


def chain(n_nodes: int) -> ModelProto:
    builder = OnnxBuilder([1, 4])
    for _ in range(n_nodes):
        builder.node("Softmax")
    return builder.model()


def test_deep_networks(tmp_path: Path) -> None:
    assert len(import_model(saved(chain(3000), tmp_path)).layers) == 3000
    assert "has 10001 nodes, the limit is 10000" in refusal(saved(chain(10_001), tmp_path))


def test_networks_of_many_branches_keep_their_order(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    names = []
    for _ in range(3000):
        builder.value = "x"
        names.append(builder.node("LeakyRelu"))
    builder.node("Sum", *names[:-1])
    layers = import_model(builder.save(tmp_path)).layers
    assert [layer.output for layer in layers[:3000]] == names


def test_values_that_grow_by_repetition(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 100, 100])
    builder.node("Gather", builder.constant(np.zeros((100, 100)), np.int64), axis=1)
    assert "a value of" in refusal(builder.save(tmp_path))
    builder = OnnxBuilder([1, 1, 100, 100])
    builder.node("Expand", builder.shape(1, 10**5, 100, 100))
    assert "a value of" in refusal(builder.save(tmp_path))


def test_functions_of_many_steps_take_several_tables(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    first, second = builder.node("Sin"), builder.node("Cos")
    for _ in range(30):  # of which each step would double the steps of a single function
        builder.value = builder.node("Add", first)
        first, second = builder.node("Sin"), builder.node("Mul", second, "@")
    graph = import_model(builder.save(tmp_path))
    functions = [layer.function for layer in graph.layers if isinstance(layer, Lookup)]
    assert max(function.steps for function in functions if isinstance(function, Joined)) <= MOST_STEPS
    builder = OnnxBuilder([1, 4])
    for _ in range(2 * MOST_STEPS + 1):
        builder.node("Exp")
    assert len(import_model(builder.save(tmp_path)).layers) == 3


@pytest.mark.parametrize(
    ("shape", "text"),
    [([1, 3, 10**6, 10**6], "declares 3000000000000 weights and inputs"), ([1, 5000, 5000], "a value of 1x5000x5000")],
)
def test_large_inputs(tmp_path: Path, shape: list[int], text: str) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("Relu")
    builder.inputs[0] = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    model = helper.make_model(
        helper.make_graph(builder.nodes, "g", builder.inputs, [helper.make_empty_tensor_value_info("value_0")]),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
    )
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("value_0", TensorProto.FLOAT, shape))
    assert text in refusal(saved(model, tmp_path))


@pytest.mark.parametrize("dims", [[2**62, 2**62], [2**40], [-1]])
def test_tensors_whose_sizes_are_declared_only(tmp_path: Path, dims: list[int]) -> None:
    model = dense().model()
    model.graph.initializer[0].dims[:] = dims
    assert "negative size" in (text := refusal(saved(model, tmp_path))) or "the limit is 268435456" in text


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda b: b.node("Pad", b.shape(0, 0, 0, 0, 0, 0, 9999, 9999)), "a value of 1x4x10005x10005 elements"),
        (
            lambda b: b.node("Resize", b.constant([]), b.constant([1, 1, 1, 1e9]), mode="nearest"),
            "a value of 1x4x6x6000000000 elements",
        ),
        (
            lambda b: b.node("AveragePool", kernel_shape=[2**31, 2], pads=[2**30, 0, 2**30, 0]),
            "a value of 2147483654x6x4 elements",
        ),
        (
            lambda b: conv(b, 1, 4, (2, 2), pads=[2**30] * 4, strides=[2**30, 2**30]),
            "a value of 2147483654x2147483654x4 elements",
        ),
        (
            lambda b: b.node(
                "ConvTranspose", b.constant(weights(4, 1, 2, 2)), strides=[2**20, 1], pads=[2**21, 0, 2**21, 0]
            ),
            "a value of 5242882x7x1 elements",
        ),
        (
            lambda b: b.node("Resize", b.constant([]), b.constant([1, 1, 999, 999]), mode="nearest"),
            "a value of 1x4x5994x5994 elements",
        ),
    ],
)
def test_operators_that_enlarge(tmp_path: Path, build: Callable[[OnnxBuilder], str], text: str) -> None:
    builder = OnnxBuilder(["n", 3, 8, 8])
    conv(builder, 4, 3)
    build(builder)
    assert text in refusal(builder.save(tmp_path))


def constant_node(builder: OnnxBuilder, operator: str, *operands: str, **attributes: Any) -> str:  # noqa: ANN401
    """Add a node that reads constants only, and return its output."""
    output = f"computed_{len(builder.nodes)}"
    builder.nodes.append(helper.make_node(operator, operands, [output], name=f"big_{operator}", **attributes))
    return output


@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("ConstantOfShape", [[2**20, 2**20]]),
        ("Tile", [[[1.0]], [2**20, 2**10]]),
        ("Expand", [[1.0], [2**20, 2**10]]),
        ("Range", [0, 2**40, 1]),
    ],
)
def test_constants_that_grow(tmp_path: Path, operator: str, operands: list[list[int]]) -> None:
    builder = OnnxBuilder([1, 4])
    names = [
        builder.constant(value, np.float32 if k == 0 and operator in {"Tile", "Expand"} else np.int64)
        for k, value in enumerate(operands)
    ]
    computed = constant_node(builder, operator, *names)
    sums = constant_node(builder, "ReduceSum", constant_node(builder, "Cast", computed, to=TensorProto.FLOAT))
    builder.node("Add", sums)
    text = refusal(builder.save(tmp_path))
    assert text.startswith(f"{operator} 'big_{operator}' computes a constant of ")
    assert "the limit of all constants is 268435456" in text


def test_products_of_constants_have_a_limit_together() -> None:
    """One of 4000 x 4000 is within it, two are not; so small files cannot take hours."""
    builder = OnnxBuilder([1, 4])
    product = matrix = constant_node(builder, "ConstantOfShape", builder.shape(4000, 4000))
    for _ in range(2):
        product = constant_node(builder, "MatMul", product, matrix)
    budget, array = ConstantBudget(), np.broadcast_to(np.float32(0), (4000, 4000))
    budget.spend(builder.nodes[1], [array, array], 13)
    with pytest.raises(InputError, match="MatMul 'big_MatMul' takes the operations on constants beyond 68719476736"):
        budget.spend(builder.nodes[2], [array, array], 13)


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "operations"),
    [
        ("MatMul", [(30, 40), (40, 50)], {}, 30 * 40 * 50 + 64 * (1200 + 2000 + 1500)),
        ("Add", [(30, 40), (40,)], {}, 64 * (1200 + 40 + 1200)),
        ("Conv", [(1, 1, 9, 9), (1, 1, 8, 8)], {}, 64 * (81 + 64 + 4 + 81 * 64 * 4)),
        ("Einsum", [(70,), (80,)], {"equation": "i,j->"}, 64 * (70 + 80 + 1 + 70 * 80)),
    ],
)
def test_operations_on_constants_by_hand(
    operator: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], operations: int
) -> None:
    names = ["a", "b"]
    operands = [np.zeros(shape, np.float32) for shape in shapes]
    budget = ConstantBudget(operations=operations)
    node = helper.make_node(operator, names, ["c"], name="n", **attributes)
    budget.spend(node, operands, 13)
    assert budget.operations == 0


def test_one_operand_twice_counts_twice() -> None:
    budget = ConstantBudget()
    square = np.zeros((100, 100), np.float32)
    budget.spend(helper.make_node("MatMul", ["a", "a"], ["b"], name="n"), [square, square], 13)
    assert CONSTANT_OPERATIONS - budget.operations == 100**3 + 64 * 3 * 100**2


def test_bytes_of_constants_count() -> None:
    budget = ConstantBudget(elements=20)
    node = helper.make_node("Cast", ["a"], ["b"], name="wide", to=TensorProto.DOUBLE)
    budget.spend(node, [np.zeros(10, np.float32)], 13)
    assert budget.elements == 0
    with pytest.raises(InputError, match="Cast 'wide' computes a constant of 1 elements"):
        budget.spend(node, [np.zeros(1, np.float32)], 13)


@pytest.mark.parametrize(
    ("operator", "attributes", "text"),
    [
        ("Constant", {"value_string": b"text"}, "of unknown size"),
        ("RandomNormal", {"shape": [1]}, "draws random numbers: export the network for inference"),
    ],
)
def test_constants_that_are_not_computed(tmp_path: Path, operator: str, attributes: dict[str, Any], text: str) -> None:
    builder = OnnxBuilder([1, 4])
    constant = constant_node(builder, operator, **attributes)
    builder.node("Add", constant_node(builder, "Cast", constant, to=TensorProto.FLOAT))
    assert text in refusal(builder.save(tmp_path))


def test_a_concatenation_of_itself_many_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's propagation of values would write it out, 2**40 elements."""
    monkeypatch.setattr(importer, "ConstantBudget", partial(ConstantBudget, elements=1000))
    builder = OnnxBuilder([1, 4])
    value = builder.shape(1)
    for _ in range(40):
        value = constant_node(builder, "Concat", value, value, axis=0)
    builder.node("Reshape", value)
    output = helper.make_tensor_value_info(builder.value, TensorProto.FLOAT, ["n"])
    graph = helper.make_graph(builder.nodes, "g", builder.inputs, [output], builder.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    assert refusal(saved(model, tmp_path)).startswith("Concat 'big_Concat_7' computes a constant of 256 ")


def test_a_concatenation_of_an_activation_with_itself(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("Sigmoid")
    for _ in range(40):
        builder.node("Concat", builder.value, axis=1)
    assert "a value of 1x33554432 elements" in refusal(builder.save(tmp_path))


def test_changes_of_layout_count_as_values(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 2**20])
    for _ in range(90):
        builder.node("Reshape", builder.shape(1, 1024, 1024))
        builder.node("Transpose", perm=[0, 2, 1])
        builder.node("Reshape", builder.shape(1, -1))
    builder.node("Sigmoid")
    assert "computes more than 268435456 elements, the limit, up to 'transpose_2" in refusal(builder.save(tmp_path))


def test_groups_of_a_transposed_convolution_that_become_one(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 2**15, 1, 1])
    builder.node("ConvTranspose", builder.constant(np.ones((2**15, 1, 1, 1))), group=2**15, name="up")
    assert "node 'up' needs 1073741824 weights" in refusal(builder.save(tmp_path))


def test_constants_that_nothing_reads_are_not_computed(tmp_path: Path) -> None:
    """ONNX Runtime folds constants before it sees that nothing needs them: an operand that it refuses shows it."""
    builder = OnnxBuilder([1, 4])
    builder.node("Sigmoid")
    output = builder.value
    constant_node(builder, "Reshape", builder.constant([1.0, 2.0]), builder.constant([3], np.int64))
    builder.value = output
    path = tmp_path / "network.onnx"
    graph = helper.make_graph(
        builder.nodes,
        "g",
        builder.inputs,
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, 4])],
        builder.initializers,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    assert len(import_model(path).layers) == 1
    assert run_float(path, np.zeros((1, 4), np.float32)).shape == (1, 4)


def test_endless_loops_are_not_run(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    flag = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    value = helper.make_tensor_value_info("v", TensorProto.FLOAT, [1])
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Sin", ["v"], ["w"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), flag, value],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, [1]),
        ],
    )
    names = (builder.constant(2**60, np.int64), builder.constant(True, np.bool_), builder.constant([1.0]))
    builder.node("Add", constant_node(builder, "Loop", *names, body=body))
    assert "Loop 'big_Loop' computes a constant of unknown size" in refusal(builder.save(tmp_path))


def test_functions_that_call_functions_are_not_expanded(tmp_path: Path) -> None:
    model = dense().model()
    domains = [helper.make_opsetid("own", 1), helper.make_opsetid("", 13)]
    for number in range(40):
        calls = [
            helper.make_node(f"F{number + 1}" if number < 39 else "Relu", [a], [b], domain="own" if number < 39 else "")
            for a, b in (("x", "y"), ("y", "z"))
        ]
        model.functions.append(helper.make_function("own", f"F{number}", ["x"], ["z"], calls, domains))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node[0].CopyFrom(helper.make_node("F0", ["x"], ["value_0"], domain="own"))
    assert refusal(saved(model, tmp_path)).startswith("own.F0 'F0_1' (inputs 1x4) is not supported")


def with_weights_in(name: str, folder: Path, **entries: str) -> Path:
    """Save a model whose weights lie in the file `name`."""
    model = dense().model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": name, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return saved(model, folder)


@pytest.mark.parametrize("name", ["../weights.bin", "/etc/hostname", "a/../../weights.bin", r"..\weights.bin", "C:w"])
def test_weights_outside_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(32))
    folder = tmp_path / "model"
    (folder / "a").mkdir(parents=True)
    path = with_weights_in(name, folder)
    assert refusal(path).startswith(f"{path} keeps weights in {name}, outside its own folder, which is not read")


def test_links_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(32))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.bin").symlink_to(tmp_path / "weights.bin")
    assert "outside its own folder" in refusal(with_weights_in("weights.bin", folder))


@pytest.mark.parametrize("entries", [{"offset": "-4"}, {"length": "x"}, {"location": ""}, {"location": "a\0b"}])
def test_places_of_weights_that_are_none(tmp_path: Path, entries: dict[str, str]) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(32))
    entries = {"location": "weights.bin", **entries}
    path = with_weights_in(entries.pop("location"), tmp_path, **entries)
    assert "does not say where the weights 'constant_0' are" in refusal(path)


def test_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_weights_in("weights.bin", tmp_path)
    (tmp_path / "weights.bin").write_bytes(bytes(32))
    assert import_model(path).has_weights
    monkeypatch.setattr(external_data, "MODEL_BYTES", path.stat().st_size + 31)
    assert "and its files of weights have" in refusal(path)
    monkeypatch.setattr(external_data, "MODEL_BYTES", 31)
    assert "weights.bin has more than 31 bytes" in refusal(path)
    monkeypatch.setattr(model_source, "MODEL_BYTES", 31)
    assert "network.onnx has more than 31 bytes" in refusal(path)


def test_values_that_contradict_their_sizes(tmp_path: Path) -> None:
    model = dense().model()
    model.graph.initializer[0].dims[:] = [4, 1]
    assert "has the tensor 'constant_0' with other values than its sizes and type say" in refusal(
        saved(model, tmp_path)
    )


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = saved(dense().model(), tmp_path)
    path.write_bytes(path.read_bytes().replace(b"Gemm", b"Ge\x80m"))
    assert "has names that are no text in UTF-8" in refusal(path)
