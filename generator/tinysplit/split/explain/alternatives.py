"""Notes on alternatives that are better than a split: a single board, or replication of the whole network."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import inf

from tinysplit.boards.board import board_title
from tinysplit.common.errors import CheckFailedError
from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.split.evaluate.replication import Replication, alone_on_each, best_replication
from tinysplit.split.problem import Objective, Problem, is_better
from tinysplit.split.solution import Split

NOTE_LIMIT_S = 2.0
ESTIMATE_ERROR = 0.03  # of a period or a latency on virtual boards: `benchmarks simulation periods`
MAX_NAMED = 6  # boards, in one line


def better_alternatives(solved: Split, solve: Callable[[Problem, float], Split]) -> Iterator[str]:
    """Yield a note for each alternative to `solved` that has a better objective, and one if it uses a single board.

    `solve` takes a problem and a time limit in seconds. Copies of the whole network have none.
    """
    if solved.copies:
        return
    best, objective = solved.objective, solved.problem.objective
    if solved.problem.must_use_all:
        fewer = _over_fewer_boards(solved, solve)
        if fewer is not None and is_better(fewer.objective, best):
            alone = f"{_names(solved, fewer.assignment)} alone: {objective.noun} {objective.text(fewer.value)}"
            all_boards = f"all boards: {objective.text(solved.value)}"
            yield f"note: {alone}, {all_boards}; {USE_ALL(False)} permits unused boards"
    elif len(solved.problem.devices) > 1 and len(set(solved.assignment)) == 1:
        runs = f"{_names(solved, solved.assignment)} runs the whole network"
        over_all = f"{USE_ALL(True)} finds the best split over all boards"
        yield f"note: no split of whole layers is better than a single board: {runs}; {over_all}"
    elif len(set(solved.assignment)) > 1:
        yield from _nearly_as_good(solved)
    copies = best_replication(replace(solved.problem, must_use_all=False), fewest=2)
    figure = _of_copies(copies) if copies else inf
    if copies and is_better(figure, best):
        yield (
            f"note: replicating the whole network on {_names(solved, copies.devices)}, with each input on one of them: "
            f"{objective.noun} {objective.text(figure)}, this split: {objective.text(solved.value)}"
            f"{f'; {USE_ALL(False)} permits that' if solved.problem.must_use_all else ''}"
        )


def _of_copies(copies: Replication) -> float:
    """Return the objective of the replication, infinite for latency, of which its best board alone has no more."""
    return inf if copies.problem.objective is Objective.LATENCY else copies.value


def _nearly_as_good(solved: Split) -> Iterator[str]:
    """Yield a note if a single board is better, or so little worse that the estimates cannot tell."""
    problem = solved.problem
    best = min((each for each in alone_on_each(problem) if each.is_feasible), key=lambda each: each.value, default=None)
    if best is None or best.value >= solved.objective * (1 + ESTIMATE_ERROR):
        return
    alone = (
        f"{_names(solved, best.assignment)} alone: {problem.objective.noun} {solved.problem.objective.text(best.value)}"
    )
    is_close = best.value > solved.objective * (1 - ESTIMATE_ERROR)
    close = f": less than the {ESTIMATE_ERROR:.0%} by which estimates may be wrong" if is_close else ""
    yield f"note: {alone}, this split: {problem.objective.text(solved.value)}{close}"


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
