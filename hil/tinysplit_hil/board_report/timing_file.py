"""The timing file of a part, as virtual boards read it, from the report of a real board."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tinysplit.common.errors import CheckFailedError, InputError
from tinysplit.common.output_file import write_whole_file
from tinysplit.settings.boards_and_links import BOARD
from tinysplit_hil.board_report.file import BoardResult, ReportFile, RuleResult, Verdict

_VERSION = 1  # of timing files: virtual_stm32.timing_rules


def timing_text(part: str, tables: Mapping[str, Mapping[str, int]]) -> str:
    """Return the text of a timing file."""
    lines = [f"version = {_VERSION}", f'part = "{part}"']
    for name, rules in tables.items():
        if rules:
            lines += ["", f"[{name}]", *(f"{rule} = {value}" for rule, value in rules.items())]
    return "\n".join(lines) + "\n"


def corrections(path: Path, boards: Sequence[BoardResult]) -> Mapping[str, Mapping[str, int]]:
    """Return the values that boards of a part have and virtual boards had not, by core or family and by rule.

    Raises InputError where two boards of the report at `path` have different values.
    """
    seen: dict[tuple[str, str], RuleResult] = {}
    found: dict[str, dict[str, int]] = {}
    for board in boards:
        for rule in board.rules:
            if rule.fits is None or rule.verdict is Verdict.UNKNOWN:
                continue
            first = seen.setdefault((rule.table, rule.rule), rule)
            if first.fits != rule.fits:
                raise InputError(
                    f"{path}: two boards of {board.part} contradict each other: {rule.table}.{rule.rule} is "
                    f"{first.fits} and {rule.fits}: make a report of one of them"
                )
            if rule.verdict is Verdict.CORRECTED:
                found.setdefault(rule.table, {})[rule.rule] = rule.fits
    return found


def adopt(path: Path, report: ReportFile, out: Path, part: str | None = None) -> Mapping[str, Mapping[str, int]]:
    """Write the timing file of the only part of a report, or of `part`, and return what it corrects.

    Raises InputError where the report is of other parts, its boards contradict each other or no timing file can have
    its values, CheckFailedError where nothing is corrected.
    """
    from virtual_stm32.timing_rules import VERSION, timing_file_of  # noqa: PLC0415 (requires Unicorn)

    parts = sorted({board.part for board in report.boards})
    if part is None and len(parts) > 1:
        raise InputError(f"{path} is of {', '.join(parts)}: name the board ({BOARD})")
    wanted = part or parts[0]
    boards = [board for board in report.boards if board.part == wanted]
    if not boards:
        raise InputError(f"{path} is of {', '.join(parts)}, not of {wanted}: make a report of a {wanted}")
    found = corrections(path, boards)
    timing_file_of(str(path), {"version": VERSION, "part": wanted, **found})
    if not found:
        raise CheckFailedError(f"{path} corrects no rule of {wanted}: there is nothing to adopt")
    write_whole_file(out, timing_text(wanted, found))
    return found
