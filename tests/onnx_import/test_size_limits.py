"""Models from others: what needs more memory or time than the limits is refused before it does, and nothing outside
the model's folder is read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from onnx_builder import OnnxBuilder, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.onnx_import import external_data, import_model, model_file


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
        builder.node("Sigmoid")
    return builder.model()


def test_deep_networks(tmp_path: Path) -> None:
    assert len(import_model(saved(chain(3000), tmp_path)).layers) == 3000
    assert "has 10001 nodes, the limit is 10000" in refusal(saved(chain(10_001), tmp_path))


def test_networks_of_many_branches_keep_their_order(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    names = []
    for _ in range(3000):
        builder.value = "x"
        names.append(builder.node("Sigmoid"))
    builder.node("Sum", *names[:-1])
    layers = import_model(builder.save(tmp_path)).layers
    assert [layer.output for layer in layers[:3000]] == names


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
            lambda b: b.node("Resize", b.constant([]), b.constant([1, 1, 999, 999]), mode="nearest"),
            "a value of 5994x5994x4 elements",
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
    monkeypatch.setattr(model_file, "MODEL_BYTES", 31)
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
