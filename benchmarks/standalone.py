"""Boards without a host on virtual boards: how they recover from faults by themselves."""

import random
import re
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from common.benchmark import OUTPUT, SEEDS, benchmark, option
from common.tables import Cell, MarkdownTable, output_to
from rigs.faulty_boards import MS_PS
from rigs.standalone_boards import StandaloneBoards, babble, build_standalone, cut, heal, standalone_boards
from virtual_stm32 import ResetCause

SETTLED_MS = 120.0  # from power-up to a stream of results
PHASE_MS = 60.0  # within which a fault begins
STUCK_MS = 10_000.0
STEP_MS = 5.0
BABBLE_MS = 500.0
RESULTS = 2  # behind a fault: the first one may have been under way
CAUSES = (ResetCause.PIN, ResetCause.WATCHDOG, ResetCause.SOFTWARE)
SPLITS = (("nucleo_g071rb", "nucleo_f401re"), ("nucleo_f401re", "nucleo_g071rb", "nucleo_g071rb"))

Strike = Callable[[StandaloneBoards, random.Random], None]  # returns when the fault is over


@dataclass
class Recoveries:
    """Milliseconds from the end of each fault to the second right result behind it, but of those that are stuck."""

    times_ms: list[float] = field(default_factory=list)
    wrong: int = 0
    stuck: int = 0

    def cells(self, title: str, split: Sequence[str], seeds: int) -> Sequence[Cell]:
        """Return a row of the table."""
        times = (round(median(self.times_ms)), round(max(self.times_ms))) if self.times_ms else (None, None)
        return title, f"{len(split)}", seeds, *times, self.wrong, self.stuck


def _reset(boards: StandaloneBoards, numbers: random.Random) -> None:
    boards.virtual.reset_board(numbers.randrange(len(boards.project.boards)), numbers.choice(CAUSES))


def _power_cut(least_ms: float, most_ms: float) -> Strike:
    def strike(boards: StandaloneBoards, numbers: random.Random) -> None:
        off_ms = least_ms * (most_ms / least_ms) ** numbers.random()
        index = numbers.randrange(len(boards.project.boards))
        boards.virtual.reset_board(index, ResetCause.POWER_UP, held_ps=round(off_ms * MS_PS))
        boards.run(off_ms)

    return strike


def _cut_wire(least_ms: float, most_ms: float) -> Strike:
    def strike(boards: StandaloneBoards, numbers: random.Random) -> None:
        cut_ms = least_ms * (most_ms / least_ms) ** numbers.random()
        cut(boards, cut_ms, numbers.randrange(len(boards.wires)))
        boards.run(cut_ms)

    return strike


def _babble(boards: StandaloneBoards, numbers: random.Random) -> None:
    wire = numbers.randrange(len(boards.wires))
    babble(boards, numbers.randrange(1 << 30), wire)
    boards.run(BABBLE_MS)
    heal(boards, wire)


FAULTS: tuple[tuple[str, Strike], ...] = (
    ("reset", _reset),
    ("power cut of 1 to 100 ms", _power_cut(1, 100)),
    ("power cut of 0.1 to 20 s", _power_cut(100, 20_000)),
    ("wire cut for 1 to 100 ms", _cut_wire(1, 100)),
    ("wire cut for 0.1 to 20 s", _cut_wire(100, 20_000)),
    (f"babble of {BABBLE_MS:.0f} ms", _babble),
)


@benchmark(
    "recovery",
    "hours; 1 to 10 s a seed",
    SEEDS,
    option("--first-seed", type=int, default=0, help="of the times"),
    option("--only", default="", metavar="TEXT", help="regular expression of the faults' names"),
    OUTPUT,
)
def recovery(options: Namespace) -> None:
    """Measure how boards without a host recover from faults: the time to the second right result, and wrong results.

    Each fault befalls any board or wire of running boards at a random time, `seeds` times; every result is compared
    with those of the integer reference. Stuck: no result within 10 s of the end of the fault.
    """
    numbers = ("seeds", "median, ms", "longest, ms", "wrong", "stuck")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    with tempfile.TemporaryDirectory() as temporary, output_to(options.output):
        MarkdownTable("fault", "boards", numbers=numbers).print(_rows(Path(temporary), options.only, seeds))


def _rows(folder: Path, only: str, seeds: range) -> Iterator[Sequence[Cell]]:
    for split in SPLITS:
        out = folder / "-".join(split)
        project = build_standalone(out, *split)
        for title, strike in FAULTS:
            if re.search(only, title):
                with standalone_boards(project, out / "project") as boards:
                    yield _recoveries(boards, title, strike, seeds).cells(title, split, len(seeds))


def _recoveries(boards: StandaloneBoards, title: str, strike: Strike, seeds: range) -> Recoveries:
    found = Recoveries()
    for seed in seeds:
        numbers = random.Random(f"{title} {seed}")  # noqa: S311 (no secret)
        boards.run(SETTLED_MS + PHASE_MS * numbers.random())
        strike(boards, numbers)
        before, begin_ps = boards.right, boards.virtual.time_ps
        while boards.right < before + RESULTS and boards.virtual.time_ps < begin_ps + STUCK_MS * MS_PS:
            boards.run(STEP_MS)
        if boards.right >= before + RESULTS:
            found.times_ms.append((boards.virtual.time_ps - begin_ps) / MS_PS)
        else:
            found.stuck += 1
    found.wrong = len(boards.wrong)
    return found
