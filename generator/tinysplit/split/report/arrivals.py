"""Inputs at a frame rate, through a split and on whole networks side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.tables import plain_table
from tinysplit.common.units import MS
from tinysplit.split.evaluate.arrivals import Passage, frames, on_whole_networks, through_split
from tinysplit.split.problem import Assignment, Problem

MAX_INPUTS = 100_000  # simulated in some seconds
LONGEST_S = 1e9  # 32 years, to a tenth of a microsecond


@dataclass(frozen=True)
class ArrivalReport:
    """What becomes of each input, by way; `why_not` says why whole networks have none."""

    per_second: float
    passages: Mapping[str, Sequence[Passage]]
    why_not: str

    def to_json(self) -> dict[str, Any]:
        """Return all passages in seconds, with mean and largest latency and waiting time of each way."""
        return {
            "frames_per_second": self.per_second,
            "ways": {
                way: {**_summary(passages), "inputs": [_to_json(passage) for passage in passages]}
                for way, passages in self.passages.items()
            },
            "why_no_whole_networks": self.why_not or None,
        }


def simulate_arrivals(problem: Problem, assignment: Assignment, per_second: float, count: int) -> ArrivalReport:
    """Simulate `count` inputs at a frame rate; UsageError for a rate that is none."""
    if not 0 < per_second < float("inf"):
        raise UsageError(f"--frame-rate {per_second:g}: name a rate above zero")
    if count > MAX_INPUTS:
        raise UsageError(f"--input-count {count}: at most {MAX_INPUTS} inputs are simulated")
    if (count - 1) / per_second > LONGEST_S:
        raise UsageError(
            f"--frame-rate {per_second:g}: {count} inputs would come for more than {LONGEST_S:g} s, and times so long "
            "are not exact enough to see what a board does: name a higher rate"
        )
    arrivals = frames(count, per_second)
    passages = {"split": through_split(problem, assignment, arrivals)}
    try:
        passages["whole networks"] = on_whole_networks(problem, arrivals)
    except CheckFailedError as error:
        return ArrivalReport(per_second, passages, str(error))
    return ArrivalReport(per_second, passages, "")


def print_arrivals(report: ArrivalReport, console: Console) -> None:
    """Print a line a way: latency is from arrival to answer, waiting until a board begins."""
    first = next(iter(report.passages.values()))
    console.print(f"{len(first)} inputs, {report.per_second:g} a second (estimated)", highlight=False)
    heading = ("mean latency ms", "largest ms", "mean waiting ms", "largest ms")
    table = plain_table("way", numbers=heading)
    for way, passages in report.passages.items():
        table.add_row(way, *(f"{seconds * MS:.2f}" for seconds in _summary(passages).values()))
    console.print(table)
    if report.why_not:
        console.print(f"whole networks: {report.why_not}", highlight=False)
    for way, passages in report.passages.items():
        if (
            len(passages) > 1
            and passages[-1].waiting_s > passages[len(passages) // 2].waiting_s > passages[0].waiting_s
        ):
            console.print(f"{way}: inputs come faster than answers, so the line grows", highlight=False)


def _summary(passages: Sequence[Passage]) -> dict[str, float]:
    latencies, waits = [each.latency_s for each in passages], [each.waiting_s for each in passages]
    return {
        "mean_latency_s": sum(latencies) / len(latencies),
        "largest_latency_s": max(latencies),
        "mean_waiting_s": sum(waits) / len(waits),
        "largest_waiting_s": max(waits),
    }


def _to_json(passage: Passage) -> dict[str, float]:
    return {
        "arrival_s": passage.arrival_s,
        "start_s": passage.start_s,
        "end_s": passage.end_s,
        "waiting_s": passage.waiting_s,
        "latency_s": passage.latency_s,
    }
