"""Mean power and energy of an inference with and without power management, and whether it pays."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tinysplit.common.units import MILLI, PERCENT
from tinysplit.split.problem import Assignment, Period, Problem
from tinysplit.split.simulation.activity import Activity, activities_in_stream

_WORTH_IT = 0.01  # of the energy


@dataclass(frozen=True)
class PowerFigures:
    """Mean power in W and joules of an inference of all boards that take part: asleep while they wait, and polling."""

    sleeping_w: float
    sleeping_j: float
    polling_w: float
    polling_j: float

    @property
    def saved(self) -> float:
        """Share of the energy that sleep saves."""
        return 1 - self.sleeping_j / self.polling_j

    def to_json(self) -> dict[str, Any]:
        """Return all figures, powers in W, energies in J."""
        return {**asdict(self), "saved": self.saved}

    @property
    def text(self) -> str:
        """The figures in one line, and whether power management pays."""
        sleeping = f"{MILLI * self.sleeping_w:.2f} mW, {MILLI * self.sleeping_j:.3f} mJ an inference"
        polling = f"{MILLI * self.polling_w:.2f} mW, {MILLI * self.polling_j:.3f} mJ"
        pays = f"pays, it saves {PERCENT * self.saved:.0f} %" if self.saved >= _WORTH_IT else "hardly pays"
        return f"mean power {sleeping}; without sleep {polling}: sleeping while boards wait {pays} (simulated)"


def power_of(problem: Problem, assignments: Sequence[Assignment]) -> PowerFigures | None:
    """Return the figures of a stream of inputs through copies of a network, each with its assignment.

    None where currents or hand-offs are not known.
    """
    used = {device for assignment in assignments for device in assignment}
    has_model = problem.handoff is not None and problem.period_definition is Period.FIRMWARE
    if not has_model or not all(problem.devices[device].run_w for device in used):
        return None
    interval_s = problem.frame_period_s
    sleeping_w = polling_w = rate_hz = 0.0
    for assignment in assignments:
        found = activities_in_stream(problem, assignment, interval_s=interval_s * len(assignments))
        span_s = found[0].run_s + found[0].sleep_s
        rate_hz += 1 / span_s
        sleeping_w += sum(_joules(each, problem) for each in found) / span_s
        polling_w += sum(problem.devices[each.device].run_w for each in found)
    return PowerFigures(sleeping_w, sleeping_w / rate_hz, polling_w, polling_w / rate_hz)


def _joules(activity: Activity, problem: Problem) -> float:
    device = problem.devices[activity.device]
    return device.run_w * activity.run_s + device.idle_w * activity.sleep_s
