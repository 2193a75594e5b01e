"""The reproduction as tables: ours beside the published figures, equal ones marked, and below what they rest on."""

from itertools import groupby, pairwise
from string import ascii_lowercase

from rich.console import Console
from rich.table import Table

from tinysplit.published.reproduction import Convention, Reproduction, Row, SideBySide
from tinysplit.tables import plain_table

MARKS = {True: "[green]=[/green]", False: "[red]≠[/red]", None: "[yellow]?[/yellow]"}
LETTERS = dict(zip(Convention, ascii_lowercase, strict=False))


def print_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print a table a published table, the conventions, the reasons of differences, and how many figures are equal."""
    reasons = list(dict.fromkeys(row.why_not for row in reproduction.rows if row.why_not))
    for table, printed in groupby(reproduction.rows, key=lambda row: row.table):
        console.print(f"Seed 000, Table {table}", style="bold", highlight=False)
        console.print(_table(list(printed), reasons))
        console.print()
    console.print("Seed 001, Table 2: inferences/s from the published milliseconds", style="bold", highlight=False)
    console.print(_replications(reproduction.replications))
    console.print()
    notes = [
        *((letter, convention.value) for convention, letter in LETTERS.items()),
        *((str(number), reason) for number, reason in enumerate(reasons, 1)),
    ]
    console.print(_notes(notes))
    console.print()
    rows = reproduction.rows
    equal, missing = sum(row.is_equal for row in rows), sum(not row.ours for row in rows)
    known = sum(bool(row.ours and row.why_not) for row in rows)
    console.print(
        f"{len(rows)} figures: {equal} equal in every printed digit, {missing} not identifiable, "
        f"{known} known to differ, {len(rows) - equal - missing - known} unexpected",
        highlight=False,
    )


def _table(rows: list[Row], reasons: list[str]) -> Table:
    table = plain_table("row", "quantity", numbers=("published", "ours", "difference"))
    for heading in ("", "rests on"):
        table.add_column(heading)
    for before, row in pairwise([None, *rows]):
        if row is None:
            continue
        letters = [LETTERS[convention] for convention in row.conventions]
        numbers = [str(reasons.index(row.why_not) + 1)] if row.why_not else []
        table.add_row(
            "" if before and before.row == row.row else row.row,
            row.quantity,
            row.published,
            row.ours or "-",
            f"{row.difference:+.3g}" if row.difference and not row.is_equal else "",
            MARKS[row.is_equal if row.ours else None],
            " ".join([*letters, *numbers]),
        )
    return table


def _replications(replications: tuple[SideBySide, ...]) -> Table:
    table = plain_table("row", numbers=("pipeline", "replicated on both"))
    for row in replications:
        table.add_row(row.row, f"{row.pipeline:.2f}", f"{row.replicated:.2f}")
    return table


def _notes(notes: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 1))
    for mark, text in notes:
        table.add_row(mark, text)
    return table
