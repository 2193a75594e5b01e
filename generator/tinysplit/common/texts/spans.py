"""Numbers in a row, as text."""

from collections.abc import Sequence


def span_text(first: int, last: int) -> str:
    """Return numbers from the first to the last: "3", "4-7"."""
    return str(first) if first == last else f"{first}-{last}"


def spans_text(numbers: Sequence[int]) -> str:
    """Return ascending numbers in short: "1-3, 5"."""
    known = set(numbers)
    starts = (number for number in numbers if number - 1 not in known)
    ends = (number for number in numbers if number + 1 not in known)
    return ", ".join(span_text(*ends_of_one) for ends_of_one in zip(starts, ends, strict=True))
