"""The numbers in a manifest by which its parts name boards: all have to be those of boards that are there."""

from collections.abc import Iterable, Sequence


def check_boards(numbers: Sequence[int], named: Iterable[tuple[str, Sequence[int]]]) -> None:
    """Raise ValueError unless the numbers of boards rise, and for the first part that names one which is not there.

    They have gaps where boards of a set have no layers. `numbers` are those of the boards, `named` the title of each
    part and the boards that it names.
    """
    if not numbers or list(numbers) != sorted({number for number in numbers if number > 0}):
        raise ValueError(f"boards have the numbers {_text(numbers)}: they have to rise from 1 on")
    for title, boards in named:
        wrong = sorted(set(boards) - set(numbers))
        if wrong or not boards:
            raise ValueError(f"{title} names board {_text(wrong)}, which is not there")


def _text(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
