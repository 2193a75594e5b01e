"""Tables in the style of all commands."""

from collections.abc import Sequence

from rich.table import Table


def plain_table(*labels: str, numbers: Sequence[str] = ()) -> Table:
    """Return a table without borders: left-aligned text columns, then right-aligned columns of `numbers`.

    On a narrow console, text is wrapped; numbers are not.
    """
    table = Table(box=None, pad_edge=False)
    for heading in labels:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def counted(number: int, what: str) -> str:
    """Return "1 point", "2 points"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
