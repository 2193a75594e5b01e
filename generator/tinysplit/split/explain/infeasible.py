"""Why a problem is infeasible: which layer or memory is short by how many bytes on which board, or which limit.

Finding the reason takes solves of relaxed problems, through `solvers/labels/`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, isfinite

from tinysplit.boards.board import board_title
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.tables import shortened
from tinysplit.common.units import MILLI, MS
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.least_costs import with_least_costs, with_least_kernels
from tinysplit.split.problem import FusedLayers, LayerCosts, Objective, Problem, within
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import (
    NoSplitError,
    has_too_few_layers,
    layers_without_device,
    missing_flash_bytes,
)

EXPLANATION_LIMIT_S = 1.0  # per relaxed problem: the explanation should take less time than the search
_NAME_WIDTH = 40  # of layers


class InfeasibleError(CheckFailedError):
    """The problem is proved to have no feasible split."""


class _UnexplainedError(InfeasibleError):
    """An InfeasibleError with lazy text: the explanation takes seconds to compute, and many callers never read it."""

    @property
    def message(self) -> str:
        """The explanation of the problem that the error was made with."""
        (given,) = self.args
        if isinstance(given, Problem):
            self.args = (_explanation(given),)
        return super().message


def explain(problem: Problem, *, proved: bool, time_limit_s: float) -> CheckFailedError:
    """Return the error that explains why `problem` has no split, or why none was found in `time_limit_s` seconds.

    It is an InfeasibleError if the problem is `proved` infeasible.
    """
    if not proved:
        return CheckFailedError(
            f"no split of {len(problem.layers)} layers on {len(problem.devices)} boards found in {time_limit_s:g} s, "
            f"and infeasibility not proved: use larger boards{' or relax the limits' if problem.is_limited else ''}"
        )
    reason = _capacity_reason(with_least_costs(problem))
    return InfeasibleError(reason) if reason else _UnexplainedError(problem)


def _capacity_reason(problem: Problem) -> str:
    """Return the capacity that is violated without any search (`no_split.check_capacity`); empty if none is."""
    if impossible := layers_without_device(problem):
        layer = problem.layers[impossible[0]]
        return f"layer {impossible[0] + 1} {shortened(layer.name, _NAME_WIDTH)!r} {_why_nowhere(problem, layer)}"
    missing = missing_flash_bytes(problem)
    if missing > 0:
        needed = sum(problem.least_flash_bytes)
        names = {1: f"{_board(problem, 0)} has", 2: "both boards together have"}
        have = names.get(len(problem.devices), f"all {len(problem.devices)} boards together have")
        at_least = "at least " if any(len(set(layer.flash_bytes)) > 1 for layer in problem.layers) else ""
        return f"the network needs {at_least}{needed} bytes of flash, {have} {needed - missing}: {missing} bytes short"
    if has_too_few_layers(problem):
        return (
            f"every one of {len(problem.devices)} boards must be used, but the network has {len(problem.layers)} layers"
        )
    return ""


def _explanation(problem: Problem) -> str:
    if problem.is_limited:
        return _violated_limits(problem)
    problem = with_least_kernels(problem)
    devices = range(len(problem.devices))
    shortages = [(missing, device) for device in devices if (missing := _missing(problem, device)) > 0]
    if shortages:
        missing, device = min(shortages)
        return (
            "every layer fits on some board and the total flash suffices, but no assignment is feasible: "
            f"{missing} more bytes of flash on {_board(problem, device)} would suffice"
        )
    if apart := _needed_apart(problem):
        first, second = (layer + 1 for layer in apart.layers)
        return f"no assignment is feasible: layers {first} and {second} fit only fused, on one board"
    if problem.must_use_all:
        return "no assignment that uses every board is feasible: remove a board"
    if problem.is_chain:
        return "no assignment is feasible: the boards that can store the layers are not linked, or several lack flash"
    return (
        "no assignment is feasible: the boards that can store the layers are not linked, or lack RAM for live tensors"
    )


@dataclass(frozen=True)
class _Limit:
    """A limit on an objective, and its words and unit in messages."""

    objective: Objective
    value: float
    name: str
    least: str  # "the shortest latency"
    unit: str
    scale: float

    @classmethod
    def all_of(cls, problem: Problem) -> "tuple[_Limit, ...]":
        """Return the limits that `problem` has."""
        limits = (
            cls(Objective.LATENCY, problem.max_latency_s, "latency", "the shortest latency", "ms", MS),
            cls(Objective.THROUGHPUT, problem.longest_period_s, "period", "the shortest period", "ms", MS),
            cls(Objective.ENERGY, problem.max_energy_j, "energy", "the least energy", "mJ", MILLI),
        )
        return tuple(limit for limit in limits if isfinite(limit.value))

    def amount(self, value: float) -> str:
        """Return `value` in the limit's unit."""
        return f"{value * self.scale:.6g} {self.unit}"

    @property
    def text(self) -> str:
        """The limit with its value."""
        return f"the {self.name} limit of {self.amount(self.value)}"


def _violated_limits(problem: Problem) -> str:
    """Return which limits are violated, alone or together, or why the problem is infeasible without limits."""
    limits = _Limit.all_of(problem)
    if not isfinite(_least(_limited(problem, (), Objective.LATENCY))):
        return _explanation(_limited(problem, (), Objective.LATENCY))
    for limit in limits:
        least = _least(_limited(problem, (), limit.objective))
        if not within(least, limit.value):
            return f"no split meets {limit.text}: {limit.least} found is {limit.amount(least)}{_copies(problem, limit)}"
    for *others, last in (*combinations(limits, 2), limits):
        least = _least(_limited(problem, others, last.objective))
        if others and not within(least, last.value):
            met = " and ".join(limit.text for limit in others)
            found = f"{last.least} found is {last.amount(least)}, not {last.amount(last.value)}"
            return f"the limits contradict each other: of the splits that meet {met}, {found}"
    return f"no split was found that meets {' and '.join(limit.text for limit in limits)}"


def _limited(problem: Problem, limits: Sequence[_Limit], objective: Objective) -> Problem:
    """Return the problem with these limits only; the frame period is kept where energy is minimised or limited."""
    values = {limit.objective: limit.value for limit in limits}
    return replace(
        problem,
        objective=objective,
        max_latency_s=values.get(Objective.LATENCY, inf),
        max_period_s=values.get(Objective.THROUGHPUT, inf),
        max_energy_j=values.get(Objective.ENERGY, inf),
        frame_period_s=problem.frame_period_s if Objective.ENERGY in {objective, *values} else 0.0,
    )


def _copies(problem: Problem, limit: _Limit) -> str:
    """Return a clause on replication of the whole network if that meets the period limit, else an empty string."""
    free = replace(problem, frame_period_s=0.0, max_energy_j=inf, max_period_s=inf, must_use_all=False)
    copies = replicate(free) if limit.objective is Objective.THROUGHPUT else None
    if copies is None or not within(copies.period_s, limit.value):
        return ""
    names = " and ".join(_board(problem, device) for device in copies.devices)
    period = limit.amount(copies.period_s)
    return f"; replicating the whole network on {names}, with each input on one of them, has a period of {period}"


def _least(problem: Problem) -> float:
    """Return the least objective found in `EXPLANATION_LIMIT_S`, infinite for none."""
    try:
        return label_search(problem, time_limit_s=EXPLANATION_LIMIT_S).objective
    except NoSplitError:
        return inf


def _needed_apart(problem: Problem) -> FusedLayers | None:
    """Return layers that do not fit apart, where a split with the RAM of fused layers has them on two devices.

    Those come first of which one does not fit its device alone.
    """
    if not problem.fused:
        return None
    try:
        found = label_search(with_least_costs(problem), time_limit_s=EXPLANATION_LIMIT_S)
    except NoSplitError:
        return None

    def fits(layer: int) -> bool:
        device = found.assignment[layer]
        return problem.layers[layer].ram_bytes[device] <= problem.devices[device].ram_bytes

    apart = [fused for fused in problem.fused if len({found.assignment[layer] for layer in fused.layers}) > 1]
    return min(apart, key=lambda fused: all(map(fits, fused.layers)), default=None)


def _board(problem: Problem, device: int) -> str:
    return board_title(device + 1, problem.devices[device].name)


def _why_nowhere(problem: Problem, layer: LayerCosts) -> str:
    """Return why no device can run `layer`, with the smallest shortfall of RAM or flash."""
    can_run = [device for device, seconds in enumerate(layer.seconds) if isfinite(seconds)]
    if not can_run:
        return "can run on none of the boards"
    for what, needed, free in (
        ("RAM", layer.ram_bytes, [device.ram_bytes for device in problem.devices]),
        ("flash", layer.flash_bytes, [device.flash_bytes for device in problem.devices]),
    ):
        short, nearest = min((needed[device] - free[device], device) for device in can_run)
        if short > 0:
            return (
                f"alone needs {needed[nearest]} bytes of {what}; the smallest shortfall is {short} bytes, on "
                f"{_board(problem, nearest)}, which has {free[nearest]}"
            )
    shortages = (f"{_board(problem, device)} lacks {_lack(problem, layer, device)}" for device in can_run)
    return f"fits on none of the boards: {', '.join(shortages)}"


def _lack(problem: Problem, layer: LayerCosts, device: int) -> str:
    limits = problem.devices[device]
    lacks = {
        "flash": layer.flash_bytes[device] - limits.flash_bytes,
        "RAM": layer.ram_bytes[device] - limits.ram_bytes,
    }
    return " and ".join(f"{n_bytes} bytes of {what}" for what, n_bytes in lacks.items() if n_bytes > 0)


def _missing(problem: Problem, device: int) -> int:
    """Return the least additional flash in bytes on `device` that was found to make the problem feasible; 0 for none.

    It is found by solving a relaxed problem, in which the flash of the device is unlimited and each byte used on it
    costs one second.
    """
    total = sum(layer.flash_bytes[device] for layer in problem.layers)
    layers = tuple(
        replace(
            layer,
            seconds=tuple(
                inf if not isfinite(seconds) else float(layer.flash_bytes[device]) if other == device else 0.0
                for other, seconds in enumerate(layer.seconds)
            ),
        )
        for layer in problem.layers
    )
    limits = problem.devices[device]
    devices = (
        *problem.devices[:device],
        replace(limits, flash_bytes=max(total, limits.flash_bytes)),
        *problem.devices[device + 1 :],
    )
    transfers = tuple(
        tuple(tuple(0.0 if isfinite(seconds) else inf for seconds in row) for row in table)
        for table in problem.transfer_seconds
    )
    relaxed = replace(
        problem.without_limits(),
        objective=Objective.LATENCY,
        layers=layers,
        devices=devices,
        transfer_seconds=transfers,
        links=None,
        host_seconds=(),
        frame_period_s=0.0,
    )
    least = _least(relaxed)
    return round(least) - limits.flash_bytes if isfinite(least) else 0
