"""What `tinysplit generate` prints: one line a layer on a narrow terminal, nothing cut."""

from io import StringIO
from pathlib import Path

from rich.console import Console

from example import build_example
from tinysplit.project.report import print_project

COLUMNS = 80


def test_each_layer_has_a_line_of_its_own(tmp_path: Path) -> None:
    project = build_example(tmp_path / "out", "nucleo_g071rb", "nucleo_f446re")
    text = StringIO()
    print_project(project, tmp_path / "out", Console(file=text, width=COLUMNS))
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
    assert "…" not in text.getvalue()
