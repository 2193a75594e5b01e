"""Boards without a host on virtual boards: how they recover from faults by themselves."""

import random
import re
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from common.benchmark import OUTPUT, SEEDS, benchmark, option
from common.tables import Cell, MarkdownTable, output_to
from rigs.faulty_boards import MS_PS
from rigs.standalone_boards import (
    DIVISIONS,
    Division,
    StandaloneBoards,
    babble,
    build_standalone,
    cut,
    heal,
    interrupt_latencies,
    standalone_boards,
)
from virtual_stm32 import ResetCause

MS_PER_S = 1000
SETTLED_MS = 120.0  # from power-up to a stream of results
PHASE_MS = 60.0  # within which a fault begins
STUCK_MS = 10_000.0
STEP_MS = 5.0
BABBLE_MS = 500.0
RESULTS = 2  # behind a fault: the first one may have been under way
CAUSES = (ResetCause.PIN, ResetCause.WATCHDOG, ResetCause.SOFTWARE)

INTERRUPTED = (
    DIVISIONS[0],
    Division("whole layers", ("nucleo_l4r5zi", "nucleo_h743zi")),
    next(division for division in DIVISIONS if division.title == "rows"),
)
ALL_AT_ONCE = 0.25  # share of the faults of boards


@dataclass(frozen=True)
class Fault:
    """What befalls running boards: `strike` returns when it is over."""

    title: str
    strike: Callable[[StandaloneBoards, random.Random], None]
    needs_wire: bool = False


@dataclass
class Recoveries:
    """Milliseconds from the end of each fault until all boards that have the output have had two right results."""

    times_ms: list[float] = field(default_factory=list)
    wrong: int = 0
    stuck: int = 0

    def cells(self, fault: str, division: Division, seeds: int) -> Sequence[Cell]:
        """Return a row of the table."""
        times = (round(median(self.times_ms)), round(max(self.times_ms))) if self.times_ms else (None, None)
        return division.title, f"{len(division.boards)}", fault, seeds, *times, self.wrong, self.stuck


def _struck(boards: StandaloneBoards, numbers: random.Random) -> Sequence[int]:
    indices = range(len(boards.project.boards))
    return indices if numbers.random() < ALL_AT_ONCE else [numbers.choice(indices)]


def _reset(boards: StandaloneBoards, numbers: random.Random) -> None:
    for index in _struck(boards, numbers):
        boards.virtual.reset_board(index, numbers.choice(CAUSES))


def _power_cut(least_ms: float, most_ms: float) -> Fault:
    def strike(boards: StandaloneBoards, numbers: random.Random) -> None:
        off_ms = {index: least_ms * (most_ms / least_ms) ** numbers.random() for index in _struck(boards, numbers)}
        for index, ms in off_ms.items():
            boards.virtual.reset_board(index, ResetCause.POWER_UP, held_ps=round(ms * MS_PS))
        boards.run(max(off_ms.values()))

    return Fault(f"power cut of {_span(least_ms, most_ms)}", strike)


def _cut_wire(least_ms: float, most_ms: float) -> Fault:
    def strike(boards: StandaloneBoards, numbers: random.Random) -> None:
        cut_ms = least_ms * (most_ms / least_ms) ** numbers.random()
        cut(boards, cut_ms, numbers.randrange(len(boards.wires)))
        boards.run(cut_ms)

    return Fault(f"wire cut for {_span(least_ms, most_ms)}", strike, needs_wire=True)


def _span(least_ms: float, most_ms: float) -> str:
    in_seconds = most_ms >= MS_PER_S
    return f"{least_ms / MS_PER_S:g} to {most_ms / MS_PER_S:g} s" if in_seconds else f"{least_ms:g} to {most_ms:g} ms"


def _babble(boards: StandaloneBoards, numbers: random.Random) -> None:
    wire = numbers.randrange(len(boards.wires))
    babble(boards, numbers.randrange(1 << 30), wire)
    boards.run(BABBLE_MS)
    heal(boards, wire)


FAULTS = (
    Fault("reset", _reset),
    _power_cut(1, 100),
    _power_cut(100, 20_000),
    _cut_wire(1, 100),
    _cut_wire(100, 20_000),
    Fault(f"babble of {BABBLE_MS:.0f} ms", _babble, needs_wire=True),
)


@benchmark(
    "recovery",
    "hours; about 1 s a seed of each row",
    SEEDS,
    option("--first-seed", type=int, default=0, help="of the times"),
    option("--only", default="", metavar="TEXT", help="regular expression of the faults' names"),
    OUTPUT,
)
def recovery(options: Namespace) -> None:
    """Measure how boards without a host recover from faults: the time to the second right result, and wrong results.

    Each fault befalls any board or wire of running boards at a random time, `seeds` times for each placement of the
    network; every result is compared with those of the integer reference. Stuck: no result within 10 s of the end of
    the fault.
    """
    numbers = ("seeds", "median, ms", "longest, ms", "wrong", "stuck")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    with tempfile.TemporaryDirectory() as temporary, output_to(options.output):
        MarkdownTable("placement", "boards", "fault", numbers=numbers).print(
            _rows(Path(temporary), options.only, seeds)
        )


@benchmark(
    "latency",
    "5 minutes",
    option("--interrupts", type=int, default=1000, help="at random times, on each board"),
    OUTPUT,
)
def latency(options: Namespace) -> None:
    """Measure how long an interrupt of the application waits, of a priority above those of the firmware, in cycles.

    From the interrupt, at any time of running boards, to the first instruction of its handler: the core's entry and
    what runs with interrupts masked.
    """
    numbers = ("interrupts", "least", "median", "99th percentile", "most")
    with tempfile.TemporaryDirectory() as temporary, output_to(options.output):
        table = MarkdownTable("placement", "board", numbers=numbers)
        table.print(_latencies(Path(temporary), options.interrupts))


def _latencies(folder: Path, count: int) -> Iterator[Sequence[Cell]]:
    for number, division in enumerate(INTERRUPTED):
        out = folder / f"{number}"
        project = build_standalone(out, division)
        with standalone_boards(project, out / "project") as boards:
            boards.run(SETTLED_MS)
            for index, name in enumerate(division.boards):
                cycles = sorted(interrupt_latencies(boards, index, count))
                most = (cycles[0], cycles[count // 2], cycles[count * 99 // 100], cycles[-1])
                yield division.title, name, count, *most


def _rows(folder: Path, only: str, seeds: range) -> Iterator[Sequence[Cell]]:
    for division in DIVISIONS:
        faults = [each for each in FAULTS if re.search(only, f"{division.title} {len(division.boards)} {each.title}")]
        if not faults:
            continue
        out = folder / f"{division.title} {len(division.boards)}"
        project = build_standalone(out, division)
        for fault in faults:
            with standalone_boards(project, out / "project") as boards:
                if boards.wires or not fault.needs_wire:
                    yield _recoveries(boards, fault, seeds).cells(fault.title, division, len(seeds))


def _recoveries(boards: StandaloneBoards, fault: Fault, seeds: range) -> Recoveries:
    found = Recoveries()
    boards.run(SETTLED_MS)
    for seed in seeds:
        numbers = random.Random(f"{fault.title} {seed}")  # noqa: S311 (no secret)
        boards.run(PHASE_MS * numbers.random())
        fault.strike(boards, numbers)
        wanted = {index: boards.right_of[index] + RESULTS for index in boards.outputs}
        begin_ps = boards.virtual.time_ps
        while boards.virtual.time_ps < begin_ps + STUCK_MS * MS_PS and not _all_have(boards, wanted):
            boards.run(STEP_MS)
        if _all_have(boards, wanted):
            found.times_ms.append((boards.virtual.time_ps - begin_ps) / MS_PS)
        else:
            found.stuck += 1
    found.wrong = len(boards.wrong)
    return found


def _all_have(boards: StandaloneBoards, wanted: Mapping[int, int]) -> bool:
    return all(boards.right_of[index] >= count for index, count in wanted.items())
