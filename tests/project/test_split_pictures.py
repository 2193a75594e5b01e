"""The split for Graphviz, and in the metadata of ONNX files."""

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from commands.command_line import USAGE, run
from example_folders import example
from tinysplit.common.output_file import check_output_file
from tinysplit.network.float_reference import run_float
from tinysplit.onnx_import import import_model
from tinysplit.project.annotated_model import annotated_model
from tinysplit.project.manifest import Project
from tinysplit.project.split_graph import split_dot

BOARD = "nucleo_g071rb"
EDGE = re.compile(r"  (\w+) -> (\w+)(?: \[label=\"(.*?)\".*\])?;")


@pytest.fixture(scope="module")
def project() -> Project:
    return example.shared_example(BOARD, BOARD)[0]


def test_a_graph_has_all_layers_and_cuts(project: Project) -> None:
    text = split_dot(project, import_model(example.MODEL))
    boards = text.split("subgraph cluster_")[1:]
    assert [re.findall(r"^    (\w+) \[label", board, re.MULTILINE) for board in boards] == [
        ["layer_0_board_1", *(f"layer_{number}_board_1" for number in range(1, 7))],
        ["layer_7_board_2"],
    ]
    edges = EDGE.findall(text)
    assert len(edges) == 7
    assert edges[-1] == ("layer_6_board_1", "layer_7_board_2", "48 bytes")
    assert '"6 pool3\\n1x1x48"' in text


def test_nodes_have_layer_board_and_cuts(project: Project) -> None:
    model = onnx.load(example.MODEL)
    found = annotated_model(project, import_model(example.MODEL), model)
    notes = [(node.op_type, {entry.key: entry.value for entry in node.metadata_props}) for node in found.graph.node]
    assert notes[1] == ("Relu", {"tinysplit.layer": "1 conv1", "tinysplit.board": f"board 1 ({BOARD})"})
    assert notes[-1] == ("Gemm", {"tinysplit.layer": "7 dense", "tinysplit.board": f"board 2 ({BOARD})"})
    cuts = {key: value for _, own in notes for key, value in own.items() if key.startswith("tinysplit.cut")}
    assert cuts == {"tinysplit.cut 1": "48 bytes from board 1 to 2"}
    assert not any(node.metadata_props for node in model.graph.node)


def test_files(tmp_path: Path) -> None:
    folder = example.shared_example(BOARD, BOARD)[1]
    html, dot, model = (tmp_path / f"split.{suffix}" for suffix in ("html", "dot", "onnx"))
    run("report", str(folder), "-o", str(html), "--graphviz", str(dot), "--onnx", str(model))
    for path in (html, dot, model):
        check_output_file(path)  # they are ours
    onnx.checker.check_model(model)
    with np.load(example.SAMPLES) as samples:
        x = samples["x"][:2]
    assert np.array_equal(run_float(model, x), run_float(example.MODEL, x))
    data = json.loads(run("report", str(folder), "-o", str(html), "--json", "--force"))
    assert (data["files"], data["boards"]) == ([str(html)], [BOARD, BOARD])
    assert data["estimated"]["I"] > 0
    refused = run("report", str(folder), "-o", str(html), "--graphviz", str(html), expect=USAGE)
    assert "is to be two files" in refused
