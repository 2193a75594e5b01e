"""A manifest whose parts name boards that are not there is refused when it is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from rigs.fake_rig import make_project
from tinysplit.common.errors import InputError
from tinysplit.common.project_files import MANIFEST_NAME
from tinysplit.project.manifest import Project


@pytest.mark.parametrize(
    ("part", "key", "value", "says"),
    [
        ("boards", "number", 3, "boards have the numbers 3, 2: they have to rise from 1 on"),
        ("boards", "directory", "../elsewhere", "directory has to be the name of a folder"),
        ("boards", "takes_input", False, "a copy of the network has no board with its input, its output or a layer"),
        ("layers", "board", 7, "layer 1 names board 7, which is not there"),
        ("cuts", "to_board", 9, "cut 1 names board 9, which is not there"),
        ("cuts", "to_board", 1, "cut 1 names the link 1-1, which is not there"),
        ("cuts", "after_layer", 99, r"cut 1 names the output \(layer-board\) 99-1, which is not there"),
        ("links", "boards", [1, 1], "a link has board 1 at both ends"),
        ("layers", "inputs", [98], "layer 1 does not read layers before it"),
        ("layers", "inputs", [], "layer 1 does not read layers before it"),
        ("links", "uarts", ["USART1", "USART9"], "the link of board 2 names UART USART9, which is not there"),
        ("layers", "number", 2, "two layers have the same numbers: 2, 2"),
        ("boards", "staged_cuts", [5], "board 1 names cut 5, which is not there"),
        ("links", "boards", [1, 5], "a link names board 5, which is not there"),
        ("copies", 0, 4, "a copy of the network names board 4, which is not there"),
    ],
)
def test_wrong_references(tmp_path: Path, part: str, key: Any, value: object, says: str) -> None:  # noqa: ANN401
    data = json.loads(make_project().model_dump_json())
    data[part][0][key] = value
    (tmp_path / MANIFEST_NAME).write_text(json.dumps(data))
    with pytest.raises(InputError, match=f"{says}.*: generate the folder again"):
        Project.read(tmp_path)
