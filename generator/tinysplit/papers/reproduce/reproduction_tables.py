"""Tables of the reproduction: published and computed figures, and the conventions that they assume."""

from itertools import groupby, pairwise
from string import ascii_lowercase

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tinysplit.common.tables import plain_table
from tinysplit.papers.reproduce.reproduction import INDEPENDENT, Convention, Reproduction, Row

MARKS = {True: Text("=", "green"), False: Text("≠", "red"), None: Text("?", "yellow")}
LETTERS = dict(zip(Convention, ascii_lowercase, strict=False))


def print_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print one table per published table or figure, the conventions, the reasons of differences, and a summary."""
    assumed = {convention for row in reproduction.rows for convention in row.conventions}
    reasons = list(dict.fromkeys(row.why_not for row in reproduction.rows if row.why_not))
    for title, printed in groupby(reproduction.rows, key=lambda row: f"{row.source}, {row.title}"):
        console.print(title, style="bold", highlight=False)
        console.print(_table(list(printed), reasons))
        console.print()
    notes = [
        *((letter, _note(convention)) for convention, letter in LETTERS.items() if convention in assumed),
        *((str(number), reason) for number, reason in enumerate(reasons, 1)),
    ]
    console.print(_notes(notes))
    console.print()
    rows = [row for row in reproduction.rows if row.published]
    equal = sum(row.is_equal for row in rows)
    missing = sum(not row.ours for row in rows)
    fitted = sum(row.is_equal and row.is_fitted for row in rows)
    known = sum(bool(row.ours and row.why_not) for row in rows)
    console.print(
        f"{len(rows)} figures: {equal} equal in every printed digit, {missing} not identifiable, "
        f"{known} known to differ, {len(rows) - equal - missing - known} unexpected",
        highlight=False,
    )
    line = f"Of the equal figures, {fitted} assume a fitted rule, and are no evidence for it; {equal - fitted} do not."
    console.print(line, highlight=False)
    if reproduction.left_out:
        console.print(f"left out: {reproduction.left_out}", highlight=False, markup=False, soft_wrap=True)


def _table(rows: list[Row], reasons: list[str]) -> Table:
    has_copies = any(row.replicated for row in rows)
    last = "replicated" if has_copies else "difference"
    table = plain_table("row", "quantity", numbers=("published", "ours", last), last_labels=("", "assumes"))
    for before, row in pairwise([None, *rows]):
        if row is None:
            continue
        letters = [LETTERS[convention] for convention in row.conventions]
        numbers = [str(reasons.index(row.why_not) + 1)] if row.why_not else []
        table.add_row(
            "" if before and before.row == row.row else row.row,
            row.quantity,
            row.published or "-",
            row.ours or "-",
            row.replicated if has_copies else _difference(row),
            MARKS[row.is_equal if row.ours and row.published else None],
            " ".join([*letters, *numbers]),
        )
    return table


def _difference(row: Row) -> str:
    return f"{row.difference:+.3g}" if row.difference and not row.is_equal else ""


def _note(convention: Convention) -> str:
    return convention.value if convention in INDEPENDENT else f"{convention.value} (fitted)"


def _notes(notes: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 1))
    for mark, text in notes:
        table.add_row(mark, text)
    return table
