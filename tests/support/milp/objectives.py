"""Latency, period and energy of a splitting problem as linear objectives and constraints.

Idle energy is a product of two unknowns: whether a device is powered, and the period. It is linearised by a big-M
constraint: each device has a variable that is at least the period if the device is powered, and at least 0 if not.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from milp.constraints import SplitProgram
from milp.model import Terms
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import ROUNDING, Objective, Period, Problem
from tinysplit.timing.topology import Hop, Pair, pair_of

PERIOD_SIZE = 1000.0  # approximate scaled value of the period: the feasibility tolerance of HiGHS is 1e-6


def is_linear(problem: Problem) -> bool:
    """Return whether objective and limits are linear: of the period definitions, only `load` is."""
    needs_period = _needs_variable(problem) or isfinite(problem.longest_period_s)
    return problem.period_definition is Period.LOAD or not needs_period


def _needs_variable(problem: Problem) -> bool:
    """Return whether objective or energy depend on the period; energy does not if the frame period is fixed."""
    idle_counts = not problem.frame_period_s and any(device.idle_w for device in problem.devices)
    return problem.objective is Objective.THROUGHPUT or (problem.asks_for_energy and idle_counts)


class _PeriodVariable(NamedTuple):
    """The period in units of `unit_s`, with its upper limit `longest` in these units."""

    variable: int
    unit_s: float
    longest: float


def add_figures(program: SplitProgram) -> None:
    """Set the costs of `program` to the problem's objective, and add all limits."""
    problem = program.problem
    busy = _busy(program)
    period = _period(program, busy) if _needs_variable(problem) else None
    for terms in busy:
        _forbid_longer(program, terms, problem.longest_period_s)
        if period is None:
            program.at_most(terms, problem.longest_period_s)
    if problem.objective is Objective.LATENCY or isfinite(problem.max_latency_s):
        latency = _latency(program)
        _forbid_longer(program, latency, problem.max_latency_s)
        _add_objective(program, Objective.LATENCY, latency, problem.max_latency_s)
    if problem.objective is Objective.THROUGHPUT and period:
        program.costs = {period.variable: period.unit_s}
    if problem.asks_for_energy:
        _add_objective(program, Objective.ENERGY, _energy(program, busy, period), problem.max_energy_j)


def _add_objective(program: SplitProgram, objective: Objective, terms: Terms, limit: float) -> None:
    program.at_most(terms, limit)
    if program.problem.objective is objective:
        program.costs = terms


def _forbid_longer(program: SplitProgram, terms: Terms, limit_s: float) -> None:
    """Fix variables to 0 that exceed `limit_s` alone: the relaxation would use fractions of them."""
    program.forbid(variable for variable, seconds in terms.items() if seconds > limit_s * (1 + ROUNDING))


def _computing(program: SplitProgram, device: int) -> Iterator[tuple[int, float]]:
    for layer, row in zip(program.problem.layers, program.on_device, strict=True):
        if isfinite(layer.seconds[device]):
            yield row[device], layer.seconds[device]


def _host_transfers(program: SplitProgram, device: int) -> Iterator[tuple[int, float]]:
    if program.problem.host_seconds:
        in_s, out_s = program.problem.host_seconds[device]
        yield program.inputs[device], in_s
        yield program.on_device[-1][device], out_s


def _hops(program: SplitProgram) -> Iterator[tuple[int, Hop]]:
    for cut in program.cuts:
        for hop in cut.hops:
            yield cut.variable, hop


def _sum(parts: Iterable[tuple[int, float]]) -> defaultdict[int, float]:
    terms: defaultdict[int, float] = defaultdict(float)
    for variable, value in parts:
        terms[variable] += value
    return terms


def _latency(program: SplitProgram) -> Terms:
    terms = _sum((variable, hop.seconds) for variable, hop in _hops(program))
    for device in program.devices:
        for variable, seconds in (*_computing(program, device), *_host_transfers(program, device)):
            terms[variable] += seconds
    return terms


def _busy(program: SplitProgram) -> list[Terms]:
    """Return the busy seconds of each device, then of each half-duplex link."""
    busy = [_sum((*_computing(program, device), *_host_transfers(program, device))) for device in program.devices]
    shared: dict[Pair, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    links = program.problem.links
    for variable, hop in _hops(program):
        busy[hop.sender][variable] += hop.seconds
        pair = pair_of(hop.sender, hop.receiver)
        if links and pair in links.half_duplex:
            shared[pair][variable] += hop.seconds
    return [*busy, *shared.values()]


def _period(program: SplitProgram, busy: Iterable[Terms]) -> _PeriodVariable:
    least_s = sum(min(row) for row in program.problem.usable_seconds) / len(program.devices)
    most_s = min(_longest_period_s(program.problem), max(sum(terms.values()) for terms in busy))
    unit_s = (least_s or most_s or 1.0) / PERIOD_SIZE
    variable = program.variable(most_s / unit_s)
    for terms in busy:
        program.constrain({part: value / unit_s for part, value in terms.items()} | {variable: -1.0}, high=0.0)
    return _PeriodVariable(variable, unit_s, most_s / unit_s)


def _longest_period_s(problem: Problem) -> float:
    """Return an upper limit of the period of optimal splits: the idle energy of a longer one exceeds the limit."""
    limits = [problem.longest_period_s, problem.max_latency_s]
    if problem.asks_for_energy:
        energies = [problem.max_energy_j]
        if problem.objective is Objective.ENERGY:
            energies += _energies_of_one_device(problem)
        idle_w = min(device.idle_w for device in problem.devices)
        limits += [min(energies) / idle_w] if idle_w else []
    return min(limits) * (1 + ROUNDING)


def _energies_of_one_device(problem: Problem) -> Iterator[float]:
    for device in range(len(problem.devices)):
        alone = evaluate(problem, (device,) * len(problem.layers))
        if alone.is_feasible:
            yield alone.energy_j


def _energy(program: SplitProgram, busy: Sequence[Terms], period: _PeriodVariable | None) -> Terms:
    """Return joules per inference (`energy.energy_j`)."""
    problem = program.problem
    terms = _sum(_idle(program, busy, period))
    for device, limits in enumerate(problem.devices):
        for variable, seconds in _computing(program, device):
            terms[variable] += (limits.run_w - limits.idle_w) * seconds
        for variable, seconds in _host_transfers(program, device):
            terms[variable] += (limits.transfer_w - limits.idle_w) * seconds
    for variable, hop in _hops(program):
        for end in (hop.sender, hop.receiver):
            terms[variable] += (problem.devices[end].transfer_w - problem.devices[end].idle_w) * hop.seconds
    return terms


def _idle(program: SplitProgram, busy: Sequence[Terms], period: _PeriodVariable | None) -> Iterator[tuple[int, float]]:
    frame_period_s = program.problem.frame_period_s
    for device, limits in enumerate(program.problem.devices):
        if not limits.idle_w:
            continue
        if frame_period_s:
            yield program.powered[device], limits.idle_w * frame_period_s
        elif period:
            powered = _powered_period(program, program.powered[device], busy[device], period)
            yield powered, limits.idle_w * period.unit_s


def _powered_period(program: SplitProgram, powered: int, busy: Terms, period: _PeriodVariable) -> int:
    """Return a variable that is at least the period if `powered` is 1, by a big-M constraint."""
    found = program.variable(period.longest)
    program.constrain({found: 1.0, period.variable: -1.0, powered: -period.longest}, low=-period.longest)
    # Implied by integer solutions, but tightens the relaxation: a partly powered device pays for its busy time.
    program.constrain({part: -seconds / period.unit_s for part, seconds in busy.items()} | {found: 1.0}, low=0.0)
    return found
