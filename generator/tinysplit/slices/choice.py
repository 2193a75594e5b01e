"""The choice between splits of whole layers and layers divided over boards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from tinysplit.boards.board import Board, board_title
from tinysplit.common.choices import Slices, SliceSolver
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.units import MILLI, MS
from tinysplit.costs.link_options import LinkSetting
from tinysplit.costs.problem_builder import make_problem
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
from tinysplit.split.problem import Objective, is_better
from tinysplit.split.solution import Split

REMEDY_LIMIT_S = 2.0


@dataclass(frozen=True)
class SliceRequest:
    """What is to be split, and how layers may be divided: see `Search` of the pipeline.

    A `solver` that is named is compared with whole layers in a line; by default it is the exact one.
    """

    table: CycleTable
    graph: Graph
    boards: Sequence[Board]
    settings: CostSettings
    slices: Slices | None
    solver: SliceSolver | None
    input_board: int
    output_board: int
    time_limit_s: float

    def best(self, solve: Callable[[], Split], planned: Callable[[Split], Split], messages: Console) -> Split:
        """Return the best split of whole layers, by `solve`, or layers divided over boards where these are better.

        Both are compared with the programs that their plans have (`planned`).
        Where whole layers are infeasible, divided ones may be feasible. Raises the errors of `solve` where neither are.
        Whole layers ignore where input and output are wanted, so that they are no answer where a board is named for it.
        """
        self._check()
        if self.slices is Slices.NONE or len(self.boards) == 1 or self.settings.cost_model:
            return planned(solve())
        try:
            whole = planned(solve())
        except CheckFailedError as error:
            sliced, reason = self._instead(messages), error
            if sliced is None:
                raise self._with_remedy(reason, messages) from None
            return self._noted(planned(sliced), messages)
        if not self.slices:
            return whole
        found = self._divided(self.slices, messages)
        among_all = replace(
            whole, lower_bound=min(whole.lower_bound, found.lower_bound), report=found.report, among_options=True
        )
        sliced = found.split(self._solver)
        if sliced is None:
            return among_all
        sliced = planned(sliced)
        if self.solver:
            messages.print(self._comparison(whole, sliced), highlight=False, soft_wrap=True)
        if self.input_board or self.output_board or is_better(sliced.value, whole.value):
            return self._noted(sliced, messages)
        return among_all

    def _with_remedy(self, reason: CheckFailedError, messages: Console) -> CheckFailedError:
        """Return an error that names slices where these were not asked for and are found to be feasible."""
        if self.slices or self._half_duplex:
            return reason
        shortly = replace(self, time_limit_s=min(self.time_limit_s, REMEDY_LIMIT_S))
        found = shortly._divided(Slices.AUTO, messages).best  # noqa: SLF001 (of its own)
        return (
            CheckFailedError(f"{reason.message}; or divide layers over boards: {SLICES('auto')}") if found else reason
        )

    def note_beside(self, whole: Split, planned: Callable[[Split], Split]) -> str:
        """Return a note where slices were not asked for, and a short search finds them better than a single board.

        Empty where it does not, and where several boards take part in `whole`.
        """
        is_one_board = len(set(whole.assignment)) == 1 and not whole.copies and len(self.boards) > 1
        if self.slices or self.settings.cost_model or self._half_duplex or not is_one_board:
            return ""
        shortly = replace(self, time_limit_s=min(self.time_limit_s, REMEDY_LIMIT_S))
        found = shortly._divided(Slices.AUTO, Console(quiet=True)).split(self._solver)  # noqa: SLF001 (of its own)
        sliced = planned(found) if found else None
        if sliced is None or not is_better(sliced.value, whole.value):
            return ""
        what, value = self._figure(sliced)
        return f"note: layers divided over boards: {what} {value}; {SLICES('auto')} finds them"

    def _figure(self, split: Split) -> tuple[str, str]:
        """Return what is minimised, and its value for a split."""
        objective = self.settings.objective
        scale, unit = (MILLI, "mJ") if objective is Objective.ENERGY else (MS, "ms")
        what = "period" if objective is Objective.THROUGHPUT else str(objective)
        return what, f"{scale * split.value:.2f} {unit}"

    @property
    def _half_duplex(self) -> tuple[LinkSetting, ...]:
        return tuple(link for link in self.settings.links if link.half_duplex)

    def _comparison(self, whole: Split, sliced: Split) -> str:
        """Return the values of both in a line."""
        (what, divided), (_, undivided) = map(self._figure, (sliced, whole))
        better = "divided layers" if is_better(sliced.value, whole.value) else "whole layers"
        return f"{what}: {divided} with {SOLVER} {self.solver}, {undivided} with whole layers: {better} are taken"

    def _check(self) -> None:
        is_asked_for = self.slices not in {None, Slices.NONE}
        for setting, board in ((INPUT_AT, self.input_board), (OUTPUT_AT, self.output_board)):
            if board and not is_asked_for:
                raise UsageError(f"{setting} is for layers that are divided: add {SLICES}, or leave {setting} out")
        for link in self._half_duplex if is_asked_for else ():
            first, second = (board + 1 for board in link.boards)
            raise UsageError(
                f"{LINK} {first}-{second}:{link.baud}:half: layers that are divided need links that send and receive "
                f"at once: leave out :half, or {SLICES}"
            )

    def _instead(self, messages: Console) -> Split | None:
        """Return divided layers where whole ones are infeasible: as asked for, or where a layer fits nowhere."""
        if self._half_duplex:
            return None
        if self.slices:
            return self._divided(self.slices, messages).split(self._solver)
        problem = make_problem(self.table, self.graph, self.boards, self.settings)
        sizes = (zip(layer.flash_bytes, problem.devices, strict=True) for layer in problem.layers)
        too_large = [
            number for number, own in enumerate(sizes, 1) if all(size > each.flash_bytes for size, each in own)
        ]
        if not too_large:
            return None
        sliced = self._divided(Slices.CHANNELS, messages).split(self._solver)
        if sliced:
            note = f"layer {too_large[0]} fits into the flash of no board: layers are divided by channels"
            messages.print(f"{note} (docs/slices.md)", highlight=False, soft_wrap=True)
        return sliced

    @property
    def _solver(self) -> SliceSolver:
        return self.solver or SliceSolver.EXACT

    def _divided(self, slices: Slices, messages: Console) -> SliceResult:
        """Search for the best division within the time limit, and print the notes of the solver."""
        start = clock.now()
        widths = BitWidths.of(self.graph, self.settings.bits)
        ends = (self.input_board, self.output_board)
        network = SlicedNetwork(self.table, self.graph, self.boards, self.settings, widths, *ends)
        found = slice_solver(self._solver)(network, AXES[slices], start + self.time_limit_s)
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
