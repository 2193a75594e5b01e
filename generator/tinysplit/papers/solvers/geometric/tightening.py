"""Tightening: penalty weights grow until the parts of every layer have its channels (Carballo-Hernández 2023, 4.2)."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from tinysplit.common.errors import CheckFailedError
from tinysplit.papers.solvers.geometric.problem import Division, DivisionProblem
from tinysplit.papers.solvers.geometric.program import Formulation, GeometricProgram
from tinysplit.papers.solvers.geometric.rounding import Channels, rounded_keeping_sums, rounded_to_nearest
from tinysplit.split import clock

STEP_OF_START = 0.01  # of what the start costs, if no step is given
SETTLED = 1e-5  # relative improvement of the cost below which the start is not renewed again


@dataclass(frozen=True)
class Settings:
    """How the penalty is tightened; the defaults are the published ones.

    `weight_step`: what each step adds to a weight, in the unit of the cost; None for 1 % of what the start costs.
    `factors`: with (100, 10, 1) the weights grow by 100 steps at a time until the channels suffice, go back by as much,
    grow by 10 steps at a time, and so on: the same result in fewer solutions where the shares grow with the weights.
    `threshold`: the sum of shares above which a layer is accepted.
    `start`: the division at which the penalty is condensed; None for equal parts.
    `renews_start`: condense at the last solution before each step, and go on until the cost falls no more.
    `keeps_sums`: rounded parts have all channels of their layer, within the limits; the last go where they cost least.
    `deadline_s`, of `split/clock.py`: no step begins after it but the first, accepted or not.
    """

    formulation: Formulation = field(default_factory=Formulation)
    weight_step: float | None = None
    factors: tuple[int, ...] = (1,)
    threshold: float = 0.99
    max_steps: int = 1000
    start: Division | None = None
    renews_start: bool = False
    keeps_sums: bool = False
    deadline_s: float = inf


@dataclass(frozen=True)
class TighteningStep:
    """One solved program: a weight a layer, the channels (not rounded), and their cost without the penalty."""

    weights: tuple[float, ...]
    division: Division
    cost: float


@dataclass(frozen=True)
class Tightening:
    """All steps; the last is the accepted one, and `channels` are its rounded channels by layer and device.

    It was accepted for lack of time if its shares are below the threshold.
    """

    problem: DivisionProblem
    steps: tuple[TighteningStep, ...]
    channels: Channels

    @property
    def accepted(self) -> TighteningStep:
        """The last step."""
        return self.steps[-1]

    @property
    def cost(self) -> float:
        """What the rounded channels cost."""
        return self.problem.cost(self.channels)

    def shares(self, step: TighteningStep) -> tuple[float, ...]:
        """Return the sum of shares of each layer at a step."""
        return _shares(self.problem, step.division)


def tighten(problem: DivisionProblem, settings: Settings) -> Tightening:
    """Return the solved steps of a geometric program and its rounded channels.

    Raises:
        CheckFailedError: no division is within the limits, or the weights grew `max_steps` times without success.
        ToolError: cvxpy is not installed.
    """
    run = _Run(problem, settings)
    for before, factor in pairwise((0, *settings.factors)):
        run.grow(factor, back=before)
    if settings.renews_start:
        run.settle()
    division = run.steps[-1].division
    rounded = rounded_keeping_sums(problem, division) if settings.keeps_sums else rounded_to_nearest(division)
    return Tightening(problem, tuple(run.steps), rounded)


class _Run:
    """The weights and steps so far."""

    def __init__(self, problem: DivisionProblem, settings: Settings) -> None:
        self.problem = problem
        self.settings = settings
        self.program = GeometricProgram(problem, settings.formulation)
        self.start = settings.start or equal_parts(problem)
        self.increments = [
            settings.weight_step or STEP_OF_START * problem.layer_cost(number, channels)
            for number, channels in enumerate(self.start)
        ]
        self.counts = [0] * len(problem.layers)  # weights in increments
        self.steps: list[TighteningStep] = []

    def grow(self, factor: int, back: int) -> None:
        """Take `back` increments back; then let the weights of layers without all their channels grow by `factor`."""
        self.counts = [count - back for count in self.counts]
        short = set(range(len(self.counts)))
        while short and not self.is_late:
            if len(self.steps) == self.settings.max_steps:
                raise CheckFailedError(self._why_not(short))
            self.counts = [count + factor * (number in short) for number, count in enumerate(self.counts)]
            self.solve()
            shares = _shares(self.problem, self.steps[-1].division)
            short = {number for number, share in enumerate(shares) if share <= self.settings.threshold}

    def settle(self) -> None:
        """Condense at the last solution until that improves the cost no more."""
        while len(self.steps) < self.settings.max_steps and not self.is_late:
            before = self.steps[-1].cost
            self.solve()
            if self.steps[-1].cost > before * (1 - SETTLED):
                return

    @property
    def is_late(self) -> bool:
        """Whether there is a step, and no time for another one."""
        return bool(self.steps) and clock.now() >= self.settings.deadline_s

    def solve(self) -> None:
        """Solve the program of the present weights."""
        weights = tuple(count * increment for count, increment in zip(self.counts, self.increments, strict=True))
        if self.settings.renews_start and self.steps:
            self.start = self.steps[-1].division
        division = self.program.solve(weights, self.start)
        self.steps.append(TighteningStep(weights, division, self.problem.cost(division)))

    def _why_not(self, short: set[int]) -> str:
        shares = _shares(self.problem, self.steps[-1].division)
        layers = ", ".join(f"{self.problem.layers[number].name} {shares[number]:.3f}" for number in sorted(short))
        return (
            f"after {len(self.steps)} steps the devices hold less than {self.settings.threshold:g} of the channels of "
            f"{layers}: their resources do not suffice for all, or the weights grow too slowly"
        )


def equal_parts(problem: DivisionProblem) -> Division:
    """Return the division of every layer into equal parts."""
    size = len(problem.devices)
    return tuple((layer.channels / size,) * size for layer in problem.layers)


def _shares(problem: DivisionProblem, division: Division) -> tuple[float, ...]:
    return tuple(sum(parts) / layer.channels for layer, parts in zip(problem.layers, division, strict=True))
