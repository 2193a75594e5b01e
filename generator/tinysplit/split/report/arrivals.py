"""Report of simulated inputs at a frame rate: a split compared with whole networks on single boards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.tables import plain_table
from tinysplit.common.units import MS
from tinysplit.split.evaluate.arrivals import Passage, frames, on_whole_networks, through_split
from tinysplit.split.problem import Assignment, Problem

MAX_INPUTS = 100_000  # takes seconds to simulate
LONGEST_S = 1e9  # 32 years: float64 still resolves 0.1 us


@dataclass(frozen=True)
class ArrivalReport:
    """Times of each input by placement; `why_not` says why no board can run the whole network."""

    per_second: float
    passages: Mapping[str, Sequence[Passage]]
    why_not: str

    def to_json(self) -> dict[str, Any]:
        """Return the times of all inputs in seconds, with mean and maximum of latency and waiting time."""
        return {
            "frames_per_second": self.per_second,
            "placements": {
                placement: {**_summary(passages), "inputs": [_to_json(passage) for passage in passages]}
                for placement, passages in self.passages.items()
            },
            "whole_networks_infeasible": self.why_not or None,
        }


def simulate_arrivals(
    problem: Problem, assignment: Assignment, copies: Sequence[int], per_second: float, count: int
) -> ArrivalReport:
    """Simulate `count` inputs at a rate per second, on the split (or its `copies`) and on whole networks.

    Raises UsageError for a rate or a count out of range.
    """
    if not 0 < per_second < float("inf"):
        raise UsageError(f"--frame-rate {per_second:g}: the rate must be positive and finite")
    if count > MAX_INPUTS:
        raise UsageError(f"--input-count {count}: at most {MAX_INPUTS} inputs can be simulated")
    if (count - 1) / per_second > LONGEST_S:
        raise UsageError(
            f"--frame-rate {per_second:g}: {count} inputs take more than {LONGEST_S:g} s, which float64 cannot "
            "resolve: use a higher rate"
        )
    arrivals = frames(count, per_second)
    if copies:
        return ArrivalReport(per_second, {"copies": on_whole_networks(problem, arrivals, copies)}, "")
    passages = {"split": through_split(problem, assignment, arrivals)}
    try:
        passages["whole networks"] = on_whole_networks(problem, arrivals)
    except CheckFailedError as error:
        return ArrivalReport(per_second, passages, str(error))
    return ArrivalReport(per_second, passages, "")


def print_arrivals(report: ArrivalReport, console: Console) -> None:
    """Print one line per placement: latency from arrival to output, and waiting time from arrival to start."""
    first = next(iter(report.passages.values()))
    console.print(f"{len(first)} inputs, {report.per_second:g} per second (estimated)", highlight=False)
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
            console.print(f"{placement}: inputs arrive faster than outputs, so the queue grows", highlight=False)


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
