"""Tables in the style of all commands."""

from collections.abc import Sequence

from rich.table import Table

NAME_WIDTH = 20  # so that a table fits 80 columns; names from exporters can have several hundred letters


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


def shortened(name: str, width: int = NAME_WIDTH) -> str:
    """Return the end of a layer's name, which distinguishes layers in what exporters write."""
    return name if len(name) <= width else "…" + name[1 - width :]


def counted(number: int, what: str) -> str:
    """Return "1 point", "2 points"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
