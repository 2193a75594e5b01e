"""What is known of candidates: bounds, splits from the journal or from workers, and simulated figures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from rich.console import Console

from tinysplit.boards.board import Board
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.best_case import best_case, best_case_of_copies, best_case_of_divisions
from tinysplit.explore.candidates import SetCandidate, boards_with_baud
from tinysplit.explore.evaluate import EvaluatedSplit, Outcome, Solving, TableKey, key_of
from tinysplit.explore.figures import Figures
from tinysplit.explore.journal import Journal
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.explore.simulated import simulated_figures
from tinysplit.explore.workers import Batch, Workers
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.graph import Graph
from tinysplit.split.copies import may_help

BATCH = 8  # candidates per task at most, which are repeated if the worker dies
QUIET = Console(quiet=True)
LEAST_BATCHES = 16  # so that all workers have something to do

Show = Callable[[], None]  # called when candidates were solved


class Evaluator:
    """Solves and simulates candidates, each once."""

    def __init__(
        self,
        table: CycleTable,
        graphs: Sequence[Graph],
        boards: Sequence[Board],
        settings: CostSettings,
        journal: Journal,
        workers: Workers,
        solving: Solving,
        show: Show,
    ) -> None:
        """Evaluate `graphs` on sets of `boards`; what the journal has is not evaluated again."""
        self._cost_table = table
        self._graphs = {graph.sha256: graph for graph in graphs}
        self._boards = boards
        self._settings = settings
        self._solving = solving
        self._journal = journal
        self._workers = workers
        self._show = show
        self._tables: dict[TableKey, ProblemTable] = {}
        self._bounds: dict[SetCandidate, Figures] = {}
        self._simulated: dict[tuple[SetCandidate, EvaluatedSplit], Figures] = {}

    def bound(self, candidate: SetCandidate) -> Figures:
        """Return lower bounds of the figures of all splits of a candidate, copies on all its boards, and divisions."""
        if candidate not in self._bounds:
            problem = self._table(key_of(candidate)).problem_of(candidate.boards)
            bound = best_case(problem)
            if may_help(problem):
                bound = bound.least(best_case_of_copies(problem))
            if self._may_divide(candidate):
                bound = bound.least(best_case_of_divisions(problem))
            self._bounds[candidate] = bound
        return self._bounds[candidate]

    def is_solved(self, candidate: SetCandidate) -> bool:
        """Return whether the outcome of a candidate is known."""
        return candidate in self._journal.outcomes

    def solve(self, candidates: Sequence[SetCandidate]) -> None:
        """Find the outcomes of candidates that have none. The errors are those of the workers."""
        new = [candidate for candidate in candidates if not self.is_solved(candidate)]
        if new:
            tables = {key: self._table(key) for key in dict.fromkeys(map(key_of, new))}
            for outcomes in self._workers.run(tables, tuple(_batches(new)), self._solving):
                self._journal.add(outcomes)
                self._show()

    def outcome(self, candidate: SetCandidate) -> Outcome:
        """Return the outcome of a candidate that is solved."""
        return self._journal.outcomes[candidate]

    def simulated(self, candidate: SetCandidate, point: EvaluatedSplit) -> Figures:
        """Return the figures of a split by the event engine; those of divided layers are."""
        if point.division:
            return point
        key = candidate, point
        if key not in self._simulated:
            problem = self._table(key_of(candidate)).problem_of(candidate.boards)
            self._simulated[key] = simulated_figures(problem, point.assignment, point.copies)
        return self._simulated[key]

    def _may_divide(self, candidate: SetCandidate) -> bool:
        table = self._table(key_of(candidate))
        return table.division_of(candidate.boards, self._solving.slices, self._solving.time_limit_s).may_divide(QUIET)

    def _table(self, key: TableKey) -> ProblemTable:
        """Return the costs of a network in these bits, at a baud rate; 0 means single boards."""
        if key not in self._tables:
            model, bits, baud = key
            names = boards_with_baud(self._boards, baud) if baud else [board.name for board in self._boards]
            boards = [board for board in self._boards if board.name in names]
            adapted = replace(self._settings, bits=bits, baud=baud or self._settings.baud)
            self._tables[key] = ProblemTable.of(self._cost_table, self._graphs[model], boards, adapted)
        return self._tables[key]


def _batches(candidates: Sequence[SetCandidate]) -> Iterator[Batch]:
    left = iter(candidates)
    size = max(1, min(BATCH, len(candidates) // LEAST_BATCHES))
    while batch := tuple(islice(left, size)):
        yield batch
