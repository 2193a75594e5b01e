"""Prints the report of a board in 80 columns."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console

from tinysplit.boards.board import board_title
from tinysplit.boards.less_sure import less_sure
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.tables import plain_table
from tinysplit_hil.board_report.file import BoardResult, Events, PieceCycles, ReportFile, Setting, Verdict

DEFAULT_THRESHOLD_PERCENT = 8.0


@dataclass(frozen=True)
class Row:
    """A piece where the virtual board is furthest from the measured one: cycles of a loop, and where."""

    piece: str
    where: str
    measured: float
    virtual: float

    @property
    def percent(self) -> float:
        """By how much the virtual board takes more."""
        return _percent(self.measured, self.virtual)


def rows_of(board: BoardResult) -> list[Row]:
    """Return a row for each piece, in the order of the report."""
    worst: dict[str, Row] = {}
    for each in board.pieces:
        for row in _rows(each):
            if each.piece not in worst or abs(row.percent) > abs(worst[each.piece].percent):
                worst[each.piece] = row
    return list(worst.values())


def _rows(piece: PieceCycles) -> Iterator[Row]:
    for setting, measured, virtual in zip(piece.settings, piece.measured, piece.virtual, strict=True):
        yield Row(piece.piece, _where(piece, setting), measured / piece.loops, virtual / piece.loops)


def _where(piece: PieceCycles, setting: Setting) -> str:
    caches = "" if setting.has_caches else " off"
    waits = f" {setting.wait_states} ws{caches}" if piece.place == "flash" else ""
    return f"{piece.place} +{piece.offset}{waits}"


def off_by_more(board: BoardResult, threshold_percent: float) -> list[Row]:
    """Return the pieces whose virtual cycles differ by more than a threshold."""
    return [row for row in rows_of(board) if abs(row.percent) > threshold_percent]


def check_report(report: ReportFile, threshold_percent: float) -> None:
    """Raise CheckFailedError where pieces or networks of a board differ by more than the threshold."""
    found = []
    for number, board in enumerate(report.boards, 1):
        if off := off_by_more(board, threshold_percent):
            found.append(f"{board_title(number, board.name)}: {len(off)} of {len(rows_of(board))} pieces")
        found += [
            f"{board_title(number, board.name)}: {network.name}, {percent:+.1f} %"
            for network in board.networks
            if abs(percent := _percent(network.measured, network.virtual)) > threshold_percent
        ]
    if found:
        raise CheckFailedError(f"virtual boards are off by more than {threshold_percent:g} %: {'; '.join(found)}")


def print_report(report: ReportFile, console: Console) -> None:
    """Print identity, pieces, DMA, events, networks and rules of each board."""
    for number, board in enumerate(report.boards, 1):
        _print_identity(number, board, report.rig, console)
        table = plain_table("piece", "worst at", numbers=("measured", "virtual", "+ %"), last_labels=("rule",))
        deciding = _deciding(board)
        for row in rows_of(board):
            numbers = (f"{row.measured:.2f}", f"{row.virtual:.2f}", f"{row.percent:+.1f}")
            table.add_row(row.piece, row.where, *numbers, deciding.get(row.piece, ""))
        console.print(table)
        _print_dma(board, console)
        _print_events(board, console)
        for what, reason in board.left_out.items():
            console.print(f"left out: {what} ({reason})", highlight=False, markup=False)
        console.print()
        _print_networks(board, console)
        _print_rules(board, console)


def _print_identity(number: int, board: BoardResult, rig: str, console: Console) -> None:
    own = board.identity
    clock = "unknown"
    if own.clock_ppm is not None and own.clock_uncertainty_ppm is not None:
        clock = f"{round(own.clock_ppm)} +- {round(own.clock_uncertainty_ppm)} ppm"
    registers = ", ".join(f"{name} {value:#010x}" for name, value in own.registers.items())
    lines = (
        f"{board_title(number, board.name)}: {board.part}, {rig} board",
        f"device id {own.device_id:#x}, revision {own.revision:#x}",
        f"core {own.core_hz / 1e6:g} MHz, fast by {clock}",
        registers,
        f"compiler {own.compiler}, project {own.project_hash}, ELF {own.elf_sha256[:16]}",
        "cycles of a loop, where the virtual board differs most:",
    )
    for line in lines:
        console.print(line, highlight=False, markup=False)


def _print_dma(board: BoardResult, console: Console) -> None:
    console.print("cycles of the core that DMA of a byte costs:", highlight=False)
    table = plain_table("piece", "at", numbers=("measured", "virtual"))
    pieces = {(each.piece, each.place, each.offset): each for each in board.pieces}
    for each in board.pieces:
        if not each.dma_bytes or each.offset:
            continue
        base = pieces[each.base, each.place, each.offset]
        for number, setting in enumerate(each.settings):
            pairs = ((each.measured, base.measured), (each.virtual, base.virtual))
            costs = (f"{(beside[number] - alone[number]) / each.dma_bytes:.2f}" for beside, alone in pairs)
            table.add_row(each.piece, _where(each, setting), *costs)
    console.print(table)


def _print_events(board: BoardResult, console: Console) -> None:
    """Print what the DWT has counted of each piece at its first place."""
    firsts: dict[str, tuple[PieceCycles, Events]] = {}
    for each in board.pieces:
        if each.events:
            firsts.setdefault(each.piece, (each, each.events))
    if not firsts:
        return
    console.print("events of a loop, counted by the DWT:", highlight=False)
    table = plain_table("piece", "at", numbers=("CPI", "LSU", "FOLD"))
    for each, events in firsts.values():
        counts = (f"{count / events.loops:.2f}" for count in (events.cpi, events.lsu, events.fold))
        table.add_row(each.piece, f"{each.place} +{each.offset}", *counts)
    console.print(table)


def _print_networks(board: BoardResult, console: Console) -> None:
    for network in board.networks:
        console.print(f"cycles of {network.name}, layer by layer:", highlight=False, markup=False)
        table = plain_table("layer", numbers=("measured", "virtual", "+ %"))
        every = [(f"{layer.number} {layer.name}", layer.measured, layer.virtual) for layer in network.layers]
        for name, measured, virtual in (*every, ("all", network.measured, network.virtual)):
            table.add_row(name, str(measured), str(virtual), f"{_percent(measured, virtual):+.1f}")
        console.print(table, "")


def _percent(measured: float, virtual: float) -> float:
    """Return by how much the virtual board takes more."""
    return 100 * (virtual / measured - 1) if measured else 0.0


def _deciding(board: BoardResult) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for rule in board.rules:
        if rule.piece:
            found.setdefault(rule.piece, []).append(rule.rule)
    return {piece: ", ".join(rules) for piece, rules in found.items()}


def _print_rules(board: BoardResult, console: Console) -> None:
    table = plain_table("of", "rule", "verdict", numbers=("virtual", "board"), last_labels=("by",))
    undecided: list[str] = []
    for rule in board.rules:
        if not rule.piece:
            undecided.append(rule.rule)
            continue
        fits = "" if rule.fits is None else str(rule.fits)
        table.add_row(rule.table, rule.rule, rule.verdict, str(rule.value), fits, rule.piece)
    console.print(table)
    if undecided:
        console.print(f"unknown, as no piece tells: {', '.join(undecided)}", highlight=False, markup=False)
    console.print(_summary(board), highlight=False, markup=False)
    for note in less_sure([board]):
        console.print(note, highlight=False, markup=False)


def _summary(board: BoardResult) -> str:
    counts = {verdict: _count(board, verdict) for verdict in Verdict}
    return f"rules: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}"


def _count(board: BoardResult, verdict: Verdict) -> int:
    return sum(rule.verdict is verdict for rule in board.rules)
