"""The part of a network that can be imported where an operator at its end or its beginning is not supported."""

import re
from ast import literal_eval
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from commands.command_line import BAD_INPUT, run
from tinysplit.common.errors import InputError
from tinysplit.onnx_import import import_model

FEATURES, CLASSES = 6, 40


def save(path: Path, *nodes: onnx.NodeProto, output: str = "y") -> Path:
    """Save `nodes`, which read `x` (1 x FEATURES) and the weights `w1` and `w2`, and compute `output`."""
    weights = {
        "w1": np.ones((FEATURES, CLASSES), np.float32),
        "w2": np.ones((CLASSES, CLASSES), np.float32),
        "few": np.ones((FEATURES,), np.float32),
    }
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, FEATURES))],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, (1, None))],
        [numpy_helper.from_array(weights[name], name) for name in sorted(read & set(weights))],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    return path


def node(op_type: str, inputs: str, output: str) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs.split(), [output], name=f"{op_type}-{output}")


def rest_of(path: Path, which: str) -> Path:
    """Return the part that the message names, extracted as it says."""
    with pytest.raises(InputError, match=f"the network without its {which}") as error:
        import_model(path)
    called = re.search(r"onnx\.utils\.extract_model\('(.*?)', '(.*?)', (\[.*?\]), (\[.*?\])\)", str(error.value))
    assert called
    assert called[1] == path.name
    part = path.with_name(called[2])
    onnx.utils.extract_model(path, part, literal_eval(called[3]), literal_eval(called[4]))
    return part


def test_an_end_is_left_out(tmp_path: Path) -> None:
    dense = node("MatMul", "x w1", "a"), node("Relu", "a", "b"), node("MatMul", "b w2", "c")
    path = save(tmp_path / "m.onnx", *dense, node("Hardmax", "c", "d"), node("Relu", "d", "y"))
    assert [layer.kind for layer in import_model(rest_of(path, "end")).layers] == ["dense", "dense"]


def test_a_beginning_is_left_out(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", node("Unique", "x", "a"), node("MatMul", "a w1", "y"))
    with pytest.raises(InputError) as error:  # what follows is of an unknown shape
        import_model(path)
    assert "without its" not in str(error.value)
    path = save(tmp_path / "m.onnx", node("Hardmax", "x", "a"), node("MatMul", "a w1", "b"), node("Relu", "b", "y"))
    assert [layer.kind for layer in import_model(rest_of(path, "beginning")).layers] == ["dense"]


def test_what_is_left_may_have_several_inputs_or_outputs(tmp_path: Path) -> None:
    both = node("MatMul", "a w1", "b"), node("MatMul", "x w1", "c"), node("Add", "b c", "y")
    graph = import_model(rest_of(save(tmp_path / "m.onnx", node("Hardmax", "x", "a"), *both), "beginning"))
    assert [end.name for end in graph.inputs] == ["x", "a"]
    dense = node("MatMul", "x w1", "a"), node("Relu", "a", "b"), node("MatMul", "b w2", "c")
    path = save(tmp_path / "m.onnx", *dense, node("Hardmax", "b", "d"), node("Add", "d c", "y"))
    assert [end.name for end in import_model(rest_of(path, "end")).outputs] == ["b", "c"]


@pytest.mark.parametrize(
    "nodes",
    [
        (node("MatMul", "x w1", "a"), node("Hardmax", "a", "b"), node("MatMul", "b w2", "y")),  # weights on both sides
        (node("Hardmax", "x", "y"),),  # nothing is left
    ],
)
def test_no_part_is_named_where_there_is_none(tmp_path: Path, nodes: tuple[onnx.NodeProto, ...]) -> None:
    with pytest.raises(InputError) as error:
        import_model(save(tmp_path / "m.onnx", *nodes))
    assert "without its" not in str(error.value)


def test_analyze_says_only_whether_a_network_can_be_imported(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", node("MatMul", "x w1", "a"), node("Relu", "a", "y"))
    assert run("analyze", str(path), "--check") == f"{path} can be imported: 1 layer, {(FEATURES + 1) * CLASSES} MACs\n"
    path = save(tmp_path / "m.onnx", node("MatMul", "x w1", "a"), node("Hardmax", "a", "b"), node("Hardmax", "b", "y"))
    text = run("analyze", str(path), "--check", expect=BAD_INPUT)
    assert text.startswith(f"error: {path} has 2 nodes that are not supported: Hardmax 'Hardmax-b' ")
    assert "(also 'Hardmax-y')" in text
    assert "up to 'a', can be imported" in text
