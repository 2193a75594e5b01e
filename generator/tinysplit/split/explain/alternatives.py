"""Where not splitting wins: one board alone, or copies of the whole network that take turns."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import inf

from tinysplit.boards.board import board_title
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.units import MILLI, MS
from tinysplit.split.evaluate.replication import Replication, replicate
from tinysplit.split.problem import Objective, Problem, is_better, within
from tinysplit.split.solution import Split

NOTE_LIMIT_S = 2.0
MAX_NAMED = 6  # boards, in one line


def not_splitting(solved: Split, solve: Callable[[Problem, float], Split]) -> Iterator[str]:
    """Yield a note for each way without this split that is better; `solve` takes a problem and seconds."""
    best = solved.objective
    if solved.problem.must_use_all:
        fewer = _over_fewer_boards(solved, solve)
        if fewer is not None and is_better(fewer.objective, best):
            alone = f"{_names(solved, fewer.assignment)} alone would {_figure(solved, fewer.objective)}"
            together = f"all boards together {_figure(solved, best)}"
            yield f"note: {alone}, {together}; --no-use-all lets the best split leave boards out"
    elif len(solved.problem.devices) > 1 and len(set(solved.assignment)) == 1:
        yield (
            f"note: not splitting wins: {_names(solved, solved.assignment)} alone runs the whole network; --use-all "
            "shows the best split over all boards"
        )
    copies = replicate(solved.problem)
    figure = _of_copies(copies, solved.problem) if copies and len(copies.devices) > 1 else inf
    if copies and is_better(figure, best):
        yield (
            f"note: the whole network on {_names(solved, copies.devices)}, every input on one of them, would "
            f"{_figure(solved, figure)}, this split {_third_person(_figure(solved, best))}"
        )


def _of_copies(copies: Replication, problem: Problem) -> float:
    """Return what copies have for the objective, infinite where they cannot be better than the best of them alone."""
    if problem.objective is Objective.THROUGHPUT:
        return copies.period_s
    keeps_pace = within(copies.period_s, problem.longest_period_s)
    return copies.energy_j if problem.objective is Objective.ENERGY and keeps_pace else inf


def _over_fewer_boards(solved: Split, solve: Callable[[Problem, float], Split]) -> Split | None:
    try:
        return solve(replace(solved.problem, must_use_all=False), NOTE_LIMIT_S)
    except CheckFailedError:
        return None


def _names(solved: Split, devices: Iterable[int]) -> str:
    named = sorted(set(devices))
    if len(named) > MAX_NAMED:
        return f"{len(named)} boards"
    return " and ".join(board_title(d + 1, solved.problem.devices[d].name) for d in named)


def _figure(solved: Split, value: float) -> str:
    """Return what a value of the objective means."""
    if solved.problem.objective is Objective.ENERGY:
        return f"need {value * MILLI:.3f} mJ an inference"
    how = "in" if solved.problem.objective is Objective.LATENCY else "every"
    return f"answer {how} {value * MS:.2f} ms"


def _third_person(figure: str) -> str:
    return figure.replace(" ", "s ", 1)
