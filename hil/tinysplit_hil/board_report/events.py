"""Counts the events of pieces by the DWT of ARMv7-M.

Its counters have 8 bits, and tell only a trace port that they wrap. So there are none of layers: an interrupt that read
them in time would come every 256 cycles, take a part of these itself, and refill pipeline and flash buffers each time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tinysplit.boards.board import Board
from tinysplit_hil.board_report.client import ReportClient, Request, What
from tinysplit_hil.board_report.file import Events
from tinysplit_hil.board_report.measuring import DWT_CTRL, Cycles, Run

_NOPRFCNT = 1 << 24  # of DWT_CTRL: Arm DDI 0403, C1.8
_COUNTABLE_CYCLES = 192  # of 255: the last loop may take longer than the others


def has_counters(registers: Mapping[str, int]) -> bool:
    """Return whether the DWT of a board counts events."""
    return DWT_CTRL in registers and not registers[DWT_CTRL] & _NOPRFCNT


def events_left_out(board: Board, registers: Mapping[str, int]) -> Mapping[str, str]:
    """Return what a report has no events of, and why."""
    if has_counters(registers):
        return {"CPI, LSU and FOLD of layers": "the counters have 8 bits, and wrap within 256 cycles"}
    has_none = "the DWT has none: NOPRFCNT of DWT_CTRL is 1"
    return {"CPI, LSU and FOLD": has_none if DWT_CTRL in registers else f"not on {board.device.core}"}


def count_events(
    client: ReportClient, board: Board, number: int, runs: Sequence[Run], cycles: Sequence[Cycles]
) -> Sequence[Events | None]:
    """Return the events of each run of a board with counters; None for those whose loop is too long to be counted.

    A piece runs with one loop, then with more, which take less than 256 cycles. A counter goes on by at most one a
    cycle, so that the difference modulo 256 is that of these loops. Raises ToolError when the board fails.
    """
    more = [_countable_loops(run, own) for run, own in zip(runs, cycles, strict=True)]
    requests = [request for run, loops in zip(runs, more, strict=True) for request in _requests(board, run, loops)]
    words = iter(client.ask({number: requests})[number])
    return [_events(loops, next(words)[0], next(words)[0]) if loops else None for loops in more]


def _countable_loops(run: Run, cycles: Cycles) -> int:
    is_counted = run.number is not None and run.piece.dma_bytes is None
    return _COUNTABLE_CYCLES * run.piece.loops // cycles[0] if is_counted else 0


def _requests(board: Board, run: Run, loops: int) -> Iterator[Request]:
    timed = run.request(board.device.family)
    for each in (1, 1 + loops) if loops else ():
        yield replace(timed, what=What.COUNT_EVENTS, words=timed.words[:1], loops=each)


def _events(loops: int, one: int, more: int) -> Events:
    cpi, lsu, fold = (((more >> position) - (one >> position)) % 256 for position in (0, 8, 16))
    return Events(loops=loops, cpi=cpi, lsu=lsu, fold=fold)
