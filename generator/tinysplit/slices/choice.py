"""The choice between splits of whole layers and layers divided over boards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import Any

from rich.console import Console

from tinysplit.boards.board import Board, board_title
from tinysplit.common.choices import Optimize, Slices, SliceSolver
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.costs.link_options import LinkSetting
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.settings.boards_and_links import LINK
from tinysplit.settings.search import INPUT_AT, OUTPUT_AT, SLICES, SOLVER
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.solvers import AXES, slice_solver
from tinysplit.split import clock
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import Objective, Period, Problem, is_better, within
from tinysplit.split.solution import Considered, Split

Ends = tuple[int, int]  # the boards with the input and the output, from 0

MOST_BOARDS = 8  # over which layers are divided
WHOLE_SHARE = 0.5  # of the time, at most, for whole layers
WORTHWHILE = 0.001  # relative: so much better than whole layers, whose estimates may know the weights, divided ones are
NO_DIVISION = "no division of layers over boards was found, either"
NEAR = 0.1  # relative: so far beyond its limit, the objective of a division may be made better


@dataclass(frozen=True)
class SliceRequest:
    """What is to be split, and how layers may be divided: see `Search` of the pipeline.

    Without `slices`, layers are divided as by `Slices.AUTO` wherever nothing else that was asked for excludes it. A
    `solver` that is named is compared with whole layers in a line; by default it is the exact one.
    """

    table: CycleTable
    graph: Graph
    boards: Sequence[Board]
    settings: CostSettings
    widths: BitWidths
    slices: Slices | None
    solver: SliceSolver | None
    ends: tuple[int | None, ...]  # boards that take the input and give the output, None where that is not named
    time_limit_s: float

    def best(self, solve: Callable[[float], Split], planned: Callable[[Split], Split], messages: Console) -> Split:
        """Return the best split of whole layers, by `solve`, or layers divided over boards where these are better.

        `solve` takes a time limit in seconds. Both are compared with the programs that their plans have (`planned`).
        Where whole layers are infeasible, divided ones may be feasible. Raises the errors of `solve` where neither are.
        Whole layers ignore where input and output are wanted, so that they are no answer where a board is named for it.
        """
        if not self.may_divide(messages):
            return planned(solve(self.time_limit_s))
        deadline_s = clock.now() + self.time_limit_s
        try:
            whole = planned(solve(WHOLE_SHARE * self.time_limit_s))
        except CheckFailedError as error:
            found = self._divided(deadline_s, messages, (self._roomiest, self._roomiest))
            sliced = found.split(self._solver)
            if sliced is None:
                is_proved = isinstance(error, InfeasibleError) and not found.ended_by_time
                kind = InfeasibleError if is_proved else CheckFailedError
                near = self.settings.objective.text(found.beyond) if isfinite(found.beyond) else ""
                divided = f"the best division of layers that was found has {near}" if near else NO_DIVISION
                raise kind(f"{error.message}; {divided}") from None
            return self._noted(planned(sliced), messages)
        names_ends = self.ends != (None, None)
        first, last = whole.assignment[0], whole.assignment[-1]
        ends = (first, last if self.settings.objective is Objective.THROUGHPUT else first)  # two host ports carry more
        limit, max_arena_bytes = inf if names_ends else whole.value, self._max_arena_bytes(whole)
        found = self._divided(deadline_s, messages, ends, limit, max_arena_bytes)
        among_all = replace(
            whole,
            lower_bound=min(whole.lower_bound, found.lower_bound),
            spent_s=whole.spent_s + found.spent_s,
            report=found.report,
            among_options=True,
            ended_by_time=found.ended_by_time,
            considered=found.considered,
        )
        sliced = found.split(self._solver)
        if sliced is None:
            return among_all
        alternative = Considered(whole.value, whole.placement)
        sliced = planned(replace(sliced, considered=(*sliced.considered, alternative)))
        if self.solver:
            messages.print(self._comparison(whole, sliced), highlight=False, soft_wrap=True)
        is_worth_it = names_ends or is_better(sliced.value, (1 - WORTHWHILE) * whole.value)
        return self._noted(sliced, messages) if is_worth_it else among_all

    def asked(self, problem: Problem, time_limit_s: float) -> "SliceRequest":
        """Return the request with the objective and the limits of `problem`."""
        limits: dict[str, Any] = {each.limit: getattr(problem, each.limit) for each in Objective}
        settings = replace(self.settings, objective=problem.objective, **limits)
        return replace(self, settings=settings, time_limit_s=time_limit_s)

    def best_within(
        self,
        problem: Problem,
        left_s: float,
        *,
        solve: Callable[[Problem, float], Split],
        planned: Callable[[Split], Split],
    ) -> Split:
        """Return the best split by the objective and within the limits of `problem`, the network's whole layers.

        It takes at most `left_s` and the time of the request. `solve` solves such problems. The errors are those of
        `best`.
        """
        request = self.asked(problem, min(left_s, self.time_limit_s))
        return request.best(partial(solve, problem), planned, Console(quiet=True))

    def may_divide(self, messages: Console) -> bool:
        """Return whether layers may be divided, and print why not where nobody has excluded it.

        Raises UsageError for options that contradict each other.
        """
        self._check()
        if len(self.boards) > MOST_BOARDS and self.slices is not Slices.NONE:
            note = f"note: layers are divided over {MOST_BOARDS} boards at most: of {len(self.boards)}, they stay whole"
            messages.print(note, highlight=False, soft_wrap=True)
        elif self._half_duplex and self.slices is None and len(self.boards) > 1:
            note = "note: layers are not divided over boards: that needs links that send and receive at once"
            messages.print(note, highlight=False, soft_wrap=True)
        return self._may_divide

    @property
    def _may_divide(self) -> bool:
        """Whether layers may be divided: as was asked for, or where nothing excludes it."""
        if self.slices is Slices.NONE or not 1 < len(self.boards) <= MOST_BOARDS or self.settings.cost_model:
            return False
        return bool(self.slices) or not (self._half_duplex or self.settings.period_definition is not Period.FIRMWARE)

    @property
    def _half_duplex(self) -> tuple[LinkSetting, ...]:
        return tuple(link for link in self.settings.links if link.half_duplex)

    def _comparison(self, whole: Split, sliced: Split) -> str:
        """Return the values of both in a line."""
        objective = self.settings.objective
        divided, undivided = (objective.text(each.value) for each in (sliced, whole))
        better = "divided layers" if is_better(sliced.value, whole.value) else "whole layers"
        values = f"{divided} with {SOLVER} {self.solver}, {undivided} with whole layers"
        return f"{objective.noun}: {values}: {better} are taken"

    def _check(self) -> None:
        for setting, board in zip((INPUT_AT, OUTPUT_AT), self.ends, strict=True):
            if board is not None and not self._may_divide:
                raise UsageError(f"{setting} is for layers that are divided, which {SLICES('none')} or a link excludes")
        for link in self._half_duplex if self.slices not in {None, Slices.NONE} else ():
            first, second = (board + 1 for board in link.boards)
            raise UsageError(
                f"{LINK} {first}-{second}:{link.baud}:half: layers that are divided need links that send and receive "
                f"at once: leave out :half, or {SLICES}"
            )

    @property
    def _solver(self) -> SliceSolver:
        return self.solver or SliceSolver.EXACT

    @property
    def _roomiest(self) -> int:
        """The board with the most RAM."""
        return max(range(len(self.boards)), key=lambda board: self.boards[board].device.largest_ram.size_bytes)

    def _max_arena_bytes(self, whole: Split) -> float:
        """Return the arena that a division may need in place of whole layers: to minimise RAM, no more than these."""
        return max(whole.figures.ram_bytes) if self.settings.optimize is Optimize.RAM else inf

    def _divided(
        self, deadline_s: float, messages: Console, usual: Ends, limit: float = inf, max_arena_bytes: float = inf
    ) -> SliceResult:
        """Search for the best division, with an objective below `limit`, and print the notes of the solver.

        Input and output are at the boards `usual` if none is named; the output is where the input is if only that is.
        The limit of the objective itself is kept at the end: on the way to the best division, others are beyond it.
        """
        start = clock.now()
        name = self.settings.objective.limit
        without: dict[str, Any] = {name: inf}
        own_limit, settings = getattr(self.settings, name), replace(self.settings, **without)
        first, last = self.ends
        home = usual[0] if first is None else first
        ends = usual if first is last is None else (home, home if last is None else last)
        on_boards = (self.table, self.graph, self.boards, settings, self.widths)
        network = SlicedNetwork(*on_boards, *ends, max_arena_bytes)
        most = min(limit, own_limit * (1 + NEAR))
        found = slice_solver(self._solver, most)(network, AXES[self.slices or Slices.AUTO], deadline_s)
        sliced = found.split(self._solver)
        if sliced and not within(sliced.value, own_limit):
            found = replace(found, best=None, beyond=sliced.value)
        for note in found.notes:
            messages.print(note, highlight=False, markup=False, soft_wrap=True)
        return replace(found, spent_s=clock.now() - start)

    def _noted(self, split: Split, messages: Console) -> Split:
        """Return the split, and print which boards may lack flash."""
        devices = zip(split.figures.flash_bytes, split.problem.devices, strict=True)
        for board, (used, device) in enumerate(devices):
            missing = used - device.flash_bytes
            if missing > 0:
                note = f"{board_title(board + 1, device.name)} may lack {missing} bytes of flash"
                messages.print(f"{note}: less once weights are quantized", highlight=False, soft_wrap=True)
        return split
