"""Boards without a host on virtual boards: how they recover from faults by themselves, and what current they draw."""

import random
import re
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np

from common.benchmark import OUTPUT, SEEDS, benchmark, option
from common.networks import CALIBRATION_COUNT, NETWORKS, QUIET
from common.tables import Cell, MarkdownTable, output_to
from rigs.faulty_boards import MS_PS, inputs_and_outputs
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
    write_applications,
)
from tinysplit import pipeline
from tinysplit.boards.board import SUPPLY_V
from tinysplit.build.folder import build_folder
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.common.choices import LowPower, Slices
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.samples import load_samples
from tinysplit.project.energy import board_energy_j
from tinysplit.project.manifest import Project
from tinysplit.project.standalone import ProjectStandalone
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Objective
from tinysplit.split.report.figures import battery_life_s
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


RATE_HZ = 1.0
BATTERY_MAH = 1000.0
FIRST_INPUTS = 4  # until the boards are in a steady state: a host may look in for 2 s
COUNTED_INPUTS = 4
POWERED = (
    ("nucleo_l452re", "nucleo_l452re"),
    ("nucleo_g071rb", "nucleo_l412kb"),
    ("nucleo_f401re", "nucleo_g071rb"),
    ("nucleo_l4r5zi", "nucleo_h743zi"),
)


@benchmark(
    "power",
    "10 minutes",
    option("--only", default="", metavar="TEXT", help="regular expression of the boards' names"),
    OUTPUT,
)
def power(options: Namespace) -> None:
    """Measure the mean current of boards without a host that get an input a second: asleep in between, and stopped.

    Keyword spotting of MLPerf Tiny in whole layers. The currents are those of the board files for the time that virtual
    boards run, sleep and stop.
    """
    times = ("runs, ms", "sleeps, ms", "stops, ms")
    results = ("mean mA", "estimated, %", f"days with {BATTERY_MAH:g} mAh", "flash", "RAM", "right", "wrong")
    with tempfile.TemporaryDirectory() as temporary, output_to(options.output):
        MarkdownTable("boards", "between inputs", numbers=(*times, *results)).print(
            _powers(Path(temporary), options.only)
        )


def _powers(folder: Path, only: str) -> Iterator[Sequence[Cell]]:
    for names in POWERED:
        for low_power in (LowPower.SLEEP, LowPower.STOP):
            if re.search(only, " ".join(names)):
                yield _power(folder / f"{'-'.join(names)}-{low_power}", names, low_power)


def _power(out: Path, names: Sequence[str], low_power: LowPower) -> Sequence[Cell]:
    project, report = _built(out, names, low_power)
    alone = project.standalone.estimated if project.standalone else None
    with standalone_boards(project, out / "project") as boards:
        boards.run(1000 * FIRST_INPUTS / RATE_HZ)
        right = boards.right
        found = boards.activities(1000 * COUNTED_INPUTS / RATE_HZ)
        activities = [each.during(each.span_s / COUNTED_INPUTS) for each in found]
        counted = boards.right - right, len(boards.wrong)
    measured_w, estimated_w = (
        RATE_HZ * sum(board_energy_j(project.board(each.board), each) or 0.0 for each in every)
        for every in (activities, alone.boards if alone else ())
    )
    times = [[each.run_s for each in activities], [each.sleep_s for each in activities]]
    times.append([each.stop_s for each in activities])
    days = battery_life_s(measured_w, BATTERY_MAH) / 86400
    return (
        ", ".join(name.removeprefix("nucleo_").upper() for name in names),
        low_power.value,
        *(" + ".join(f"{1000 * seconds:.1f}" for seconds in each) for each in times),
        f"{1000 * measured_w / SUPPLY_V:.3f}",
        f"{100 * (estimated_w / measured_w - 1):+.1f}",
        f"{days:.0f}",
        *(" + ".join(map(str, each)) for each in report),
        *counted,
    )


def _built(out: Path, names: Sequence[str], low_power: LowPower) -> tuple[Project, tuple[list[int], list[int]]]:
    """Build keyword spotting, and return the bytes of flash and RAM of the programs."""
    network = NETWORKS["KWS"]
    out.mkdir()
    samples = load_samples(network.samples or Path(), network.graph()).first(CALIBRATION_COUNT)
    np.savez(out / "samples.npz", x=samples.x)
    settings = CostSettings(use_all=True, objective=Objective.THROUGHPUT)
    context = Context.load(network.model, names, settings, QUIET)
    split = pipeline.describe_split(context, pipeline.split_network(context, Search(slices=Slices.NONE)))
    standalone = ProjectStandalone(frame_us=round(1e6 / RATE_HZ), low_power=low_power)
    context = replace(context, programs=ProgramOptions(standalone=standalone))
    project = pipeline.generate_folder(context, split, out / "samples.npz", out / "project")
    inputs, expected = inputs_and_outputs(out / "project", project)
    write_applications(project, out / "project", inputs, expected.shape[1])
    report = build_folder(project, out / "project", QUIET)
    sizes = [each.sizes for each in report.boards]
    return project, ([each.flash.used_bytes for each in sizes], [each.ram_bytes for each in sizes])
