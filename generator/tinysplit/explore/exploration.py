"""An exploration: Pareto fronts of all sets of boards, or rankings in two phases, for each network and bit width."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tinysplit import __version__
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.folder_lock import locked_file
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import Outcome
from tinysplit.explore.evaluator import Evaluator
from tinysplit.explore.front import FrontEntry, non_dominated
from tinysplit.explore.goal import Ranked
from tinysplit.explore.journal import Journal
from tinysplit.explore.largest import Largest, largest_networks
from tinysplit.explore.ranking import RankedSet, Ranking
from tinysplit.explore.request import ExploreRequest
from tinysplit.explore.stopping import Stopped, TimeIsUpError, total_time
from tinysplit.explore.sweep import Sweep, at_rate, sweep
from tinysplit.explore.two_phase import TwoPhaseSearch
from tinysplit.explore.workers import Workers
from tinysplit.network.graph import Graph
from tinysplit.settings.costs import MAX_PRICE

Group = tuple[str, int]  # SHA-256 of a network, bits: there is an answer for each


@dataclass(frozen=True)
class Exploration:
    """The answers to a request; what was not reached is missing if it was `stopped`.

    `outcomes` are those of all candidates that were solved, in the order of the candidates.
    """

    request: ExploreRequest
    n_candidates: int
    outcomes: tuple[Outcome, ...]
    rankings: Mapping[Group, Ranking] = field(default_factory=dict)
    sweeps: Mapping[Group, Sweep] = field(default_factory=dict)
    largest: tuple[Largest, ...] = ()
    stopped: Stopped | None = None

    @property
    def groups(self) -> Iterator[tuple[Graph, int]]:
        """Networks and bit widths: accuracy depends on them, and not on the boards."""
        return ((graph, bits) for graph in self.request.graphs for bits in self.request.space.bits)

    def front(self, graph: Graph, bits: int) -> tuple[FrontEntry, ...]:
        """Return the front of a network in one bit width over the axes of the request."""
        goal = self.request.goal
        frame_period_s = self.request.settings.frame_period_s
        entries = (
            FrontEntry(outcome.candidate, point, point.power_w(frame_period_s), goal.price(outcome.candidate.boards))
            for outcome in self.outcomes
            if (outcome.candidate.model, outcome.candidate.bits) == (graph.sha256, bits)
            for point in outcome.points
        )
        return non_dominated(entries, lambda entry: [entry.quantity(axis) for axis in self.request.axes])

    def check(self) -> None:
        """Raise CheckFailedError if it ended without a feasible candidate."""
        if self.stopped or any(outcome.points for outcome in self.outcomes):
            return
        last = f"the last one: {self.outcomes[-1].why_not}" if self.outcomes else "not even in the best case"
        why = last if self.n_candidates else f"no set is within {MAX_PRICE}, or no board can generate the baud rates"
        raise CheckFailedError(f"none of {self.n_candidates} candidates is feasible; {why}")


def explore(
    request: ExploreRequest, journal_path: Path, workers: Workers, show: Callable[[int, int], None]
) -> Exploration:
    """Answer a request; `show` gets the numbers of solved and of all candidates. The workers are closed.

    Ctrl-C and the time limit end it early, and lose at most the batches that workers are processing. Raises the errors
    of `Journal` and of the workers, and ToolError while another process uses the journal.
    """
    candidates = tuple(request.candidates())
    with (
        locked_file(journal_path),
        closing(workers),
        Journal(journal_path, _conditions(request)) as journal,
    ):
        show(sum(each in journal.outcomes for each in candidates), len(candidates))
        answers = _Answers(request, candidates, journal, workers, show)
        stopped = None
        try:
            with total_time(request.total_limit_s):
                answers.find()
        except KeyboardInterrupt:
            stopped = Stopped.INTERRUPTED
        except TimeIsUpError:
            stopped = Stopped.OUT_OF_TIME
        return answers.so_far(stopped)


class _Answers:
    """The answers that are found one after the other."""

    def __init__(
        self,
        request: ExploreRequest,
        candidates: Sequence[SetCandidate],
        journal: Journal,
        workers: Workers,
        show: Callable[[int, int], None],
    ) -> None:
        self.request = request
        self.candidates = candidates
        self.journal = journal
        self.show = show
        every = frozenset(candidates)
        self.evaluator = Evaluator(
            request.table,
            request.graphs,
            request.space.boards,
            request.settings,
            journal,
            workers,
            request.solving,
            lambda: show(len(every & journal.outcomes.keys()), len(every)),
        )
        self.searches: dict[Group, TwoPhaseSearch] = {}
        self.sweeps: dict[Group, Sweep] = {}
        self.largest: tuple[Largest, ...] = ()

    def find(self) -> None:
        """Find all answers."""
        request = self.request
        if request.goal.ranked_by:
            self._rank()
        else:
            self.evaluator.solve(self.candidates)
        if request.asks_largest:
            self.largest = largest_networks(request.graphs, request.space, request.goal, self.evaluator)
        self.show(len(self.candidates), len(self.candidates))  # those left out are done, too

    def so_far(self, stopped: Stopped | None) -> Exploration:
        """Return the answers that were found."""
        outcomes = self.journal.outcomes
        return Exploration(
            request=self.request,
            n_candidates=len(self.candidates),
            outcomes=tuple(outcomes[each] for each in self.candidates if each in outcomes),
            rankings={group: search.ranking() for group, search in self.searches.items()},
            sweeps=self.sweeps,
            largest=self.largest,
            stopped=stopped,
        )

    def _rank(self) -> None:
        request = self.request
        groups = [(graph.sha256, bits) for graph in request.graphs for bits in request.space.bits]
        for group in groups:
            candidates = [each for each in self.candidates if (each.model, each.bits) == group]
            self.searches[group] = TwoPhaseSearch(self.evaluator, request.goal, candidates, request.n_best)
            self.searches[group].run()
        if len(request.space.bauds) > 1 and request.space.max_boards > 1 and request.goal.ranked_by is not Ranked.PRICE:
            for group in groups:
                self.sweeps[group] = self._sweep(*group)

    def _sweep(self, model: str, bits: int) -> Sweep:
        """Return the sweep of a network in a bit width over the baud rates."""
        request, space = self.request, self.request.space

        @cache
        def best(n_boards: int, baud: int) -> RankedSet | None:
            rate = at_rate(space, model, bits, baud or space.bauds[0])
            candidates = [each for each in request.candidates(rate) if len(each.boards) == n_boards]
            search = TwoPhaseSearch(self.evaluator, request.goal, candidates, n_best=1, n_kept=1)
            search.run()
            return next(iter(search.ranking().best), None)

        return sweep(space, request.goal, best)


def _conditions(request: ExploreRequest) -> dict[str, Any]:
    """Return the header of the journal: everything but the candidate that an outcome depends on."""
    solving = request.solving
    return {
        "tinysplit_version": __version__,
        "cost table or other settings": hashlib.sha256(repr((request.table, request.settings)).encode()).hexdigest(),
        "time limit": solving.time_limit_s,
        "division of layers": solving.slices,
        "objective, or axes": [each.value for each in solving.against] or "best",
        **{f"description of {board.name}": board.sha256 for board in request.space.boards},
    }


def journal_name(request: ExploreRequest) -> Path:
    """Return the usual name of the journal: another one for all that would make a journal useless."""
    conditions = json.dumps(_conditions(request), sort_keys=True)
    return Path(f"explore-{hashlib.sha256(conditions.encode()).hexdigest()[:8]}.jsonl")
