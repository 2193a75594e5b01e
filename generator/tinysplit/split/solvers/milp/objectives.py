"""I, the period and the energy of a splitting problem as terms and limits of its linear program.

Idle power times the period is a product of two unknowns: each device has a variable of its own for the period that it
is powered, which is at least the period less as much as it could be at most where the device is off.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import ROUNDING, Objective, Period, Problem
from tinysplit.split.solvers.milp.constraints import SplitProgram
from tinysplit.split.solvers.milp.model import Terms
from tinysplit.split.topology import Hop, Pair, pair_of

PERIOD_SIZE = 1000.0  # about what the variable of the period becomes: HiGHS lets rows be broken by 1e-6


def is_linear(problem: Problem) -> bool:
    """Return whether all that counts can be stated in linear terms: other periods than `load` cannot."""
    needs_period = _needs_variable(problem) or isfinite(problem.longest_period_s)
    return problem.period_definition is Period.LOAD or not needs_period


def _needs_variable(problem: Problem) -> bool:
    """Return whether the period counts beyond its limit; energy does without it where inputs come at a fixed pace."""
    idle_counts = not problem.frame_period_s and any(device.idle_w for device in problem.devices)
    return problem.objective is Objective.THROUGHPUT or (problem.asks_for_energy and idle_counts)


class _PeriodVariable(NamedTuple):
    """The period in units of `unit_s`, and the most units that it can be."""

    variable: int
    unit_s: float
    longest: float


def add_figures(program: SplitProgram) -> None:
    """Set the costs of `program` to the problem's objective, and add all limits."""
    problem = program.problem
    busy = _busy(program)
    period = _period(program, busy) if _needs_variable(problem) else None
    for terms in busy:
        _forbid_more(program, terms, problem.longest_period_s)
        if period is None:
            program.at_most(terms, problem.longest_period_s)
    if problem.objective is Objective.LATENCY or isfinite(problem.max_latency_s):
        latency = _latency(program)
        _forbid_more(program, latency, problem.max_latency_s)
        _weigh(program, Objective.LATENCY, latency, problem.max_latency_s)
    if problem.objective is Objective.THROUGHPUT and period:
        program.costs = {period.variable: period.unit_s}
    if problem.asks_for_energy:
        _weigh(program, Objective.ENERGY, _energy(program, busy, period), problem.max_energy_j)


def _weigh(program: SplitProgram, objective: Objective, terms: Terms, limit: float) -> None:
    program.at_most(terms, limit)
    if program.problem.objective is objective:
        program.costs = terms


def _forbid_more(program: SplitProgram, terms: Terms, limit_s: float) -> None:
    """Forbid what alone takes longer than `limit_s`: HiGHS itself would take a part of it."""
    program.forbid(variable for variable, seconds in terms.items() if seconds > limit_s * (1 + ROUNDING))


def _computing(program: SplitProgram, device: int) -> Iterator[tuple[int, float]]:
    for layer, row in zip(program.problem.layers, program.places, strict=True):
        if isfinite(layer.seconds[device]):
            yield row[device], layer.seconds[device]


def _talking_to_host(program: SplitProgram, device: int) -> Iterator[tuple[int, float]]:
    if program.problem.host_seconds:
        in_s, out_s = program.problem.host_seconds[device]
        yield program.inputs[device], in_s
        yield program.places[-1][device], out_s


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
        for variable, seconds in (*_computing(program, device), *_talking_to_host(program, device)):
            terms[variable] += seconds
    return terms


def _busy(program: SplitProgram) -> list[Terms]:
    """Return the seconds that each device, and behind them each half-duplex link, is busy."""
    busy = [_sum((*_computing(program, device), *_talking_to_host(program, device))) for device in program.devices]
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
        program.row({part: value / unit_s for part, value in terms.items()} | {variable: -1.0}, high=0.0)
    return _PeriodVariable(variable, unit_s, most_s / unit_s)


def _longest_period_s(problem: Problem) -> float:
    """Return a period that no best split exceeds: what is spent idle for so long is more than the energy allowed."""
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
    """Return joules an inference (`energy.energy_j`)."""
    problem = program.problem
    terms = _sum(_idle(program, busy, period))
    for device, limits in enumerate(problem.devices):
        for variable, seconds in _computing(program, device):
            terms[variable] += (limits.run_w - limits.idle_w) * seconds
        for variable, seconds in _talking_to_host(program, device):
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
    """Return a variable that is the period where `powered` is 1."""
    found = program.variable(period.longest)
    program.row({found: 1.0, period.variable: -1.0, powered: -period.longest}, low=-period.longest)
    # No integer solution needs this row, but a device that is powered in part pays for all that it does.
    program.row({part: -seconds / period.unit_s for part, seconds in busy.items()} | {found: 1.0}, low=0.0)
    return found
