"""A split: the solution of a splitting problem, with its figures and a lower bound of the objective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from rich.console import RenderableType

from tinysplit.network.distribution import Distributions
from tinysplit.split.evaluate.evaluation import Evaluation, evaluate
from tinysplit.split.evaluate.replication import CopiesEvaluation, replicate_on
from tinysplit.split.evaluate.sub_models import SubModel, sub_models
from tinysplit.split.problem import Assignment, Objective, Period, Problem
from tinysplit.timing.figures import PowerFigures, Timing
from tinysplit.timing.program import BoardStep, Kind, Program
from tinysplit.timing.topology import Cut

REACHED = 1e-6  # relative: solvers with tolerances miss a bound by less
GIVEN = "given"  # in place of a solver: the assignment was not searched for


def assignments(assignment: Assignment, copies: Sequence[int]) -> tuple[Assignment, ...]:
    """Return the assignment of each copy of the network: one a device of `copies`, without any `assignment` alone."""
    return tuple((device,) * len(assignment) for device in copies) or (assignment,)


class Placement(NamedTuple):
    """Where a network runs: the board of each layer in each copy of it, or of each part of layers that are divided."""

    assignments: tuple[Assignment, ...]
    distributions: Distributions | None = None

    @property
    def devices(self) -> Assignment:
        """The board of each layer, of the first copy or part, from 0."""
        if self.distributions:
            return tuple(layer.owners[0] for layer in self.distributions.layers)
        return self.assignments[0]

    @property
    def copies(self) -> tuple[int, ...]:
        """The devices with a copy of the whole network each, empty for one pipeline."""
        return tuple(each[0] for each in self.assignments) if len(self.assignments) > 1 else ()


class Considered(NamedTuple):
    """A feasible placement, and its objective as the search knew it: seconds or joules.

    `links` (`LinkSetting`) are those of divided layers, None those of the boards.
    """

    value: float
    placement: Placement
    links: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class SearchReport:
    """What a solver tells about its search beside the split: lines and tables, and the same in JSON."""

    printed: tuple[RenderableType, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Split:
    """The result of a solver.

    `objective` and `lower_bound` are I or the period in seconds, or joules; the figures that are promised are those of
    the event engine. No split of whole layers has an objective below the bound. Where layers might have been divided
    (`among_options`), no option of the exact search (`slices/options.py`) has, or the bound is 0. With `copies`, each
    of these devices has the whole network, `assignment` is that of the slowest copy, and the host deals the inputs to
    them.
    """

    problem: Problem = field(repr=False)
    assignment: Assignment
    lower_bound: float
    explored: int  # assignments or labels that the solver evaluated
    solver: str
    spent_s: float
    picked_because: str = ""  # why `auto` selected this solver
    copies: tuple[int, ...] = ()
    distributions: Distributions | None = None  # of the whole network: `problem` has its parts
    ended_by_time: bool = False  # with more time there may have been a better one, or a higher bound
    among_options: bool = False  # layers might have been divided: there are more ways than the search has options
    report: SearchReport = field(default_factory=SearchReport, repr=False)
    considered: tuple[Considered, ...] = field(default=(), repr=False)  # by the search, whole layers aside
    programs: tuple[Program, ...] = field(default=(), repr=False)  # of its plans; empty: as they follow from `problem`

    @cached_property
    def figures(self) -> Evaluation:
        """Memory of the assignment, and the times that the search knew."""
        copies = replicate_on(self.problem, self.copies)
        return CopiesEvaluation.of(copies) if copies else evaluate(self.problem, self.assignment)

    @cached_property
    def timing(self) -> Timing | None:
        """The figures of the generated programs, None for an ideal period, which no programs have."""
        if self.problem.period_definition is not Period.FIRMWARE:
            return None
        derived = (evaluate(self.problem, assignment).firmware.program for assignment in self.assignments)
        return Timing(self.programs or tuple(derived), self.problem.frame_period_s)

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The assignment of each copy of the network; a split is one copy."""
        return assignments(self.assignment, self.copies)

    @property
    def placement(self) -> Placement:
        """Where the network runs."""
        return Placement(self.assignments, self.distributions)

    @property
    def objective(self) -> float:
        """What the search minimised, as it knew it: I or the period in seconds, or joules per inference."""
        return self.figures.value

    @property
    def value(self) -> float:
        """What the objective is of the generated programs: I or the period in seconds, or joules per inference."""
        figures = {
            Objective.LATENCY: lambda: self.i_s,
            Objective.THROUGHPUT: lambda: self.period_s,
            Objective.ENERGY: lambda: self.energy_j,
        }
        return figures[self.problem.objective]()

    @property
    def l_s(self) -> float:
        """Computational latency L in seconds, of the slowest copy."""
        return self.timing.l_s if self.timing else self.figures.l_s

    @property
    def t_s(self) -> float:
        """Communication latency T in seconds, with host transfers if they are counted."""
        return self.timing.t_s + self.figures.host_s if self.timing else self.figures.t_s

    @property
    def i_s(self) -> float:
        """Inference latency I in seconds, with host transfers if they are counted."""
        return self.timing.i_s + self.figures.host_s if self.timing else self.figures.i_s

    @property
    def blocking(self) -> tuple[BoardStep, ...]:
        """The transfers for which a board of the generated firmware waits, as it lacks the RAM for a buffer."""
        return self.timing.blocking if self.timing else ()

    @property
    def period_s(self) -> float:
        """Period in seconds; throughput is its inverse."""
        return self.timing.period_s if self.timing else self.figures.period_s

    @property
    def energy_j(self) -> float:
        """Joules per inference."""
        return self.timing.energy_j(self.problem.devices) if self.timing else self.figures.energy_j

    @property
    def without_currents(self) -> tuple[str, ...]:
        """Names of the devices that take part and whose currents are not known, so that there is no energy."""
        used = {device for assignment in self.assignments for device in assignment}
        return tuple(
            self.problem.devices[device].name for device in sorted(used) if not self.problem.devices[device].run_w
        )

    @cached_property
    def power(self) -> PowerFigures | None:
        """Mean power and energy, None where currents or programs are not known."""
        return self.timing.power(self.problem.devices) if self.timing else None

    @property
    def gap(self) -> float:
        """Optimality gap: relative distance of the lower bound from the value; 0 where the search has reached it.

        The value has what no search counts, as taking the input; streamed hand-offs may make it less than the bound.
        """
        return 0.0 if self._is_reached or not self.value else max(0.0, 1 - self.lower_bound / self.value)

    @property
    def _is_reached(self) -> bool:
        """Whether the search has reached the bound."""
        return self.lower_bound >= self.objective * (1 - REACHED)

    @property
    def proved(self) -> bool:
        """Whether the split is optimal by what the search knew, up to rounding errors; not if layers may be divided."""
        return not self.among_options and self._is_reached

    @property
    def sub_models(self) -> tuple[SubModel, ...]:
        """Maximal runs of consecutive layers on one device."""
        return sub_models(self.assignment)

    def runs_on(self, device: int) -> tuple[SubModel, ...]:
        """Return the sub-models of a device: those of the assignment, or the whole network of a copy."""
        if self.copies:
            return (SubModel(device, 0, len(self.assignment) - 1),) if device in self.copies else ()
        return tuple(run for run in self.sub_models if run.device == device)

    def l_s_on(self, device: int) -> float:
        """Return the seconds of all layers that `device` computes for an inference."""
        if self.timing:
            steps = (step for program in self.timing.programs for step in program.steps if step.device == device)
            return sum(step.seconds for step in steps if step.kind is Kind.RUN)
        assignment = (device,) * len(self.assignment) if self.copies else self.assignment
        seconds = evaluate(self.problem, assignment).layer_seconds
        return sum(seconds[layer] for run in self.runs_on(device) for layer in range(run.first, run.last + 1))

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Tensors that are sent between devices."""
        return self.figures.cuts

    def route(self, cut: Cut) -> tuple[int, ...]:
        """Return the devices on the route of `cut`, including both ends."""
        return (cut.sender, *(hop.receiver for hop in self.problem.hops(cut)))
