"""What `tinysplit generate` prints: one line a board, and with --explain one line a layer; nothing is cut."""

from io import StringIO

import pytest
from rich.console import Console

from example_folders.example import shared_example
from tinysplit.project.printing import explain_project, print_project

COLUMNS = 80


@pytest.mark.slow
def test_each_layer_has_a_line_of_its_own() -> None:
    project, _ = shared_example("nucleo_g071rb", "nucleo_g071rb")
    text = StringIO()
    print_project(project, Console(file=text, width=COLUMNS))
    for board in project.boards:
        (row,) = (line.rstrip() for line in text.getvalue().splitlines() if line.startswith(board.directory))
        assert row.endswith(f" {board.weights_bytes / 1024:.1f}  {board.arena_bytes / 1024:8.1f}")
    explain_project(project, Console(file=text, width=COLUMNS))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
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


@pytest.mark.slow
def test_copies_on_boards_of_one_kind_are_printed_once() -> None:
    project, _ = shared_example("nucleo_g071rb")
    (board,) = project.boards
    others = [
        project.board(1).model_copy(update={"number": n, "name": name}) for n, name in ((2, board.name), (3, "x"))
    ]
    layers = [layer.model_copy(update={"board": number}) for number in (1, 2, 3) for layer in project.layers]
    update = {"boards": (board, *others), "layers": tuple(layers), "copies": ((1,), (2,), (3,))}
    text = StringIO()
    for show in (print_project, explain_project):
        show(project.model_copy(update=update), Console(file=text, width=COLUMNS))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    assert sum(line.split()[1:2] == ["1-7"] for line in lines) == 3
    assert [line for line in lines if line.startswith("the network on each")] == [
        "the network on each nucleo_g071rb:",
        "the network on each x:",
    ]
    assert sum(line.startswith("layer 7, output at ") for line in lines) == 2
