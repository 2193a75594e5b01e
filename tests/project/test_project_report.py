"""What `tinysplit generate` prints: one line a layer on a narrow terminal, nothing cut."""

from io import StringIO

import pytest
from rich.console import Console

from example import shared_example
from tinysplit.project.report import print_project

COLUMNS = 80


@pytest.mark.slow
def test_each_layer_has_a_line_of_its_own() -> None:
    project, folder = shared_example("nucleo_g071rb", "nucleo_g071rb")
    text = StringIO()
    print_project(project, folder, Console(file=text, width=COLUMNS))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    for board in project.boards:
        (row,) = (line for line in lines if line.startswith(board.directory))
        assert row.endswith(f" {board.arena_bytes}")
    for layer in project.layers:
        row = next(line for line in lines if line.startswith(f"{layer.number}  {layer.kind}"))
        assert len(row) <= COLUMNS
        assert layer.memory.kernel in row
        assert layer.memory.scheme in row
        assert row.endswith(f" {layer.estimated_cycles}")
        assert any(line.startswith(f"layer {layer.number}, output at ") for line in lines)
    for cut in project.cuts:
        assert any(line.startswith(f"output of layer {cut.after_layer} to board {cut.to_board}: ") for line in lines)
    assert "…" not in text.getvalue()
