"""The numbers in a manifest by which its parts name each other: all have to be those of parts that are there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinysplit.project.manifest import Project


def check_references(project: "Project") -> None:
    """Raise ValueError for the first board, layer or cut that names one which is not there.

    A wiring test has boards and links only.
    """
    numbers = [board.number for board in project.boards]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        raise ValueError(f"boards have the numbers {_text(numbers)}: they have to count from 1")
    for link in project.links:
        _check(f"the link of boards {_text(link.boards)}", link.boards, numbers)
    for cut in project.cuts:
        _check(f"cut {cut.number}", (cut.from_board, cut.to_board), numbers)
    for layer in project.layers:
        _check(f"layer {layer.number}", (layer.board,), numbers)
    for activity in (*project.estimated_alone, *project.estimated_in_stream):
        _check("an activity", (activity.board,), numbers)
    if bool(project.layers) != bool(project.copies):
        raise ValueError("a network has layers and copies, both or none of them")
    for boards in project.copies:
        _check_copy(project, boards, numbers)


def _check_copy(project: "Project", boards: tuple[int, ...], numbers: Iterable[int]) -> None:
    name = f"the copy on boards {_text(boards)}"
    _check(name, boards, numbers)
    own = [board for board in project.boards if board.number in boards]
    if not (any(board.takes_input for board in own) and any(board.gives_output for board in own)):
        raise ValueError(f"{name} has no board that takes the input, or none that gives the output")
    if not any(layer.board in boards for layer in project.layers):
        raise ValueError(f"{name} has no layers")


def _check(name: str, boards: Iterable[int], numbers: Iterable[int]) -> None:
    wrong = sorted(set(boards) - set(numbers))
    if wrong:
        raise ValueError(f"{name} names board {wrong[0]}, which is not there")


def _text(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
