"""Report of inputs at a frame rate or from a trace: a split compared with whole networks on single boards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from rich.console import Console

from tinysplit.boards.less_sure import less_sure_json
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.input_files.limits import TIMES_BYTES, read_limited
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MS
from tinysplit.settings.search import FRAME_RATE, INPUT_COUNT
from tinysplit.split.evaluate.replication import alone_on_each
from tinysplit.split.figures import PlacementFigures
from tinysplit.split.problem import Problem
from tinysplit.split.report.figures import bottleneck_of, figure_lines
from tinysplit.split.report.simulation import SimulationReport, print_simulation
from tinysplit.split.solution import Split
from tinysplit.timing.loss import Loss
from tinysplit.timing.results import Passage
from tinysplit.timing.simulation import simulate

MAX_INPUTS = 100_000  # takes half a minute to simulate, several with divided layers
LONGEST_S = 1e9  # 32 years: float64 still resolves 0.1 us


@dataclass(frozen=True)
class Arrivals:
    """When inputs arrive, in seconds, ascending; `per_second` is their rate, None of a trace."""

    times_s: Sequence[float]
    per_second: float | None = None

    @classmethod
    def at_rate(cls, per_second: float, count: int) -> Self:
        """Return `count` inputs at equal intervals. Raises UsageError for a rate or a count out of range."""
        if not 0 < per_second < float("inf"):
            raise UsageError(f"{FRAME_RATE} {per_second:g}: the rate must be positive and finite")
        if count > MAX_INPUTS:
            raise UsageError(f"{INPUT_COUNT} {count}: at most {MAX_INPUTS} inputs can be simulated")
        if (count - 1) / per_second > LONGEST_S:
            raise UsageError(
                f"{FRAME_RATE} {per_second:g}: {count} inputs take more than {LONGEST_S:g} s, which float64 cannot "
                "resolve: use a higher rate"
            )
        return cls([number / per_second for number in range(count)], per_second)

    @classmethod
    def of_trace(cls, path: Path) -> Self:
        """Read a text file with one time in seconds a line, of which the first is the begin.

        Raises InputError, which names the first wrong line.
        """
        try:
            lines = read_limited(path, TIMES_BYTES).decode().split("\n")
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"{path} is no text in UTF-8: save it in UTF-8") from None
        places = {f"{path}, line {number}": line for number, line in enumerate(lines, 1) if line.strip()}
        return cls._of(str(path), places)

    @classmethod
    def at_times(cls, times_s: Sequence[float], title: str) -> Self:
        """Return inputs at ascending times in seconds, of which the first is the begin.

        Raises InputError, which names the first wrong entry of what is called `title`.
        """
        return cls._of(title, {f"{title} {number}": time_s for number, time_s in enumerate(times_s, 1)})

    @classmethod
    def _of(cls, title: str, given: Mapping[str, str | float]) -> Self:
        times_s: list[float] = []
        for place, each in given.items():
            times_s.append(_time_of(each, place, times_s[-1] if times_s else 0.0))
        if not 0 < len(times_s) <= MAX_INPUTS:
            raise InputError(f"{title} has {len(times_s)} times: between 1 and {MAX_INPUTS} inputs can be simulated")
        return cls([time_s - times_s[0] for time_s in times_s])


def _time_of(given: str | float, place: str, before_s: float) -> float:
    try:
        time_s = float(given)
    except (TypeError, ValueError):
        what = given.strip() if isinstance(given, str) else given
        raise InputError(f"{place}: {what!r} is no time in seconds") from None
    if not before_s <= time_s <= LONGEST_S:
        raise InputError(f"{place}: {time_s:g} s is not between the time before, {before_s:g} s, and {LONGEST_S:g} s")
    return time_s


@dataclass(frozen=True)
class ArrivalReport:
    """Times of each input by placement; `why_not` says why no board can run the whole network.

    `simulation` is that of `split`, or of its copies.
    """

    split: Split
    per_second: float | None
    passages: Mapping[str, Sequence[Passage]]
    why_not: str
    simulation: SimulationReport

    def to_json(self) -> dict[str, Any]:
        """Return the times of all inputs in seconds, with mean and maximum of latency and waiting time.

        `figures` are those of the split, whatever the inputs.
        """
        return {
            "frames_per_second": self.per_second,
            "placements": {
                placement: {**_summary(passages), "inputs": [_to_json(passage) for passage in passages]}
                for placement, passages in self.passages.items()
            },
            "whole_networks_infeasible": self.why_not or None,
            "figures": PlacementFigures.of(self.split).model_dump(mode="json"),
            "simulation": self.simulation.to_json(),
            **less_sure_json(self.split.problem.devices),
        }


def simulate_arrivals(
    split: Split, whole: Problem, arrivals: Arrivals, loss: Loss, *, keeps_events: bool = False
) -> ArrivalReport:
    """Simulate inputs on a split or on copies, and on copies of the `whole` network on all boards that can run it.

    `split` has programs.
    """
    found = simulate(split.programs, arrivals.times_s, loss, keeps_events=keeps_events)
    report = partial(ArrivalReport, split, arrivals.per_second)
    simulation = SimulationReport(found, whole.devices, split.i_s, loss.rate)
    if split.copies:
        return report({"copies": found.passages}, "", simulation)
    passages: dict[str, Sequence[Passage]] = {"split": found.passages}
    free = replace(whole, must_use_all=False).without_limits()
    alone = [each for each in alone_on_each(free) if each.is_feasible]
    if not alone:
        return report(passages, "no board has the memory for the whole network", simulation)
    wholes = simulate([each.firmware.program for each in alone], arrivals.times_s)
    return report({**passages, "whole networks": wholes.passages}, "", simulation)


def print_arrivals(report: ArrivalReport, console: Console) -> None:
    """Print the figures of the split, and a line for each placement.

    The line has the latency from arrival to output, and the waiting time from arrival to start.
    """
    for line in figure_lines(report.split):
        console.print(line, highlight=False, markup=False)
    console.print()
    first = next(iter(report.passages.values()))
    rate = "from a trace" if report.per_second is None else f"{report.per_second:g} per second"
    console.print(f"{counted(len(first), 'input')}, {rate} (estimated)", highlight=False)
    heading = ("mean latency ms", "max ms", "mean waiting ms", "max ms")
    table = plain_table("placement", numbers=heading)
    for placement, passages in report.passages.items():
        table.add_row(placement, *(f"{seconds * MS:.2f}" for seconds in _summary(passages).values()))
    console.print(table)
    if report.why_not:
        console.print(f"whole networks: {report.why_not}", highlight=False)
    for placement, passages in report.passages.items():
        if (
            len(passages) > 1
            and passages[-1].waiting_s > passages[len(passages) // 2].waiting_s > passages[0].waiting_s
        ):
            console.print(f"{placement}: {_full(report.split, placement)}", highlight=False, soft_wrap=True)
    console.print()
    print_simulation(report.simulation, console)


def _full(split: Split, placement: str) -> str:
    """Return why inputs wait longer and longer: what of the split is full."""
    text = "inputs arrive faster than outputs, so the queue grows"
    if placement == "whole networks" or split.timing is None:
        return text
    return f"{text}: {bottleneck_of(split, split.timing.bottleneck)}"


def _summary(passages: Sequence[Passage]) -> dict[str, float]:
    latencies, waits = [each.latency_s for each in passages], [each.waiting_s for each in passages]
    return {
        "mean_latency_s": sum(latencies) / len(latencies),
        "max_latency_s": max(latencies),
        "mean_waiting_s": sum(waits) / len(waits),
        "max_waiting_s": max(waits),
    }


def _to_json(passage: Passage) -> dict[str, float]:
    return {
        "arrival_s": passage.arrival_s,
        "start_s": passage.start_s,
        "end_s": passage.end_s,
        "waiting_s": passage.waiting_s,
        "latency_s": passage.latency_s,
    }
