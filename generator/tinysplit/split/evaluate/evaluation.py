"""What searches know of an assignment: latency, period, energy and memory, and whether it is feasible.

These are quick to compute. The figures of what they find come from the event engine (`timing/figures.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite

from tinysplit.split.evaluate.cuts import cuts, host_transfers
from tinysplit.split.evaluate.energy import energy_j
from tinysplit.split.evaluate.kernels import with_kernels_of
from tinysplit.split.evaluate.memory import flash_bytes, link_bytes, linked_devices, ram_bytes
from tinysplit.split.evaluate.period import period_s
from tinysplit.split.evaluate.program import Firmware
from tinysplit.split.problem import Assignment, Objective, Period, Problem, within
from tinysplit.timing.figures import Timing
from tinysplit.timing.program import BoardStep
from tinysplit.timing.topology import Cut


@dataclass(frozen=True)
class Evaluation:
    """The figures of `assignment` in `problem`, feasible or not; each is computed when it is first read.

    L, T and I are Santamaria 2021, formulas 2, 4 and 5.
    """

    problem: Problem
    assignment: Assignment

    @cached_property
    def cuts(self) -> tuple[Cut, ...]:
        """Tensors that cross between devices."""
        return cuts(self.problem, self.assignment)

    @cached_property
    def layer_seconds(self) -> tuple[float, ...]:
        """Seconds of each layer on its device: more where buffers take the RAM for its constants (`Firmware.of`)."""
        own = [layer.seconds[device] for layer, device in zip(self.problem.layers, self.assignment, strict=True)]
        problem = self.problem
        may_lose = problem.objective is Objective.THROUGHPUT or isfinite(problem.longest_period_s)
        if not may_lose or not all(map(isfinite, own)):
            return tuple(own)
        lost = self.firmware.lost_seconds
        return tuple(seconds + lost.get(layer, 0.0) for layer, seconds in enumerate(own))

    @property
    def constants_bytes(self) -> tuple[int, ...]:
        """Bytes of RAM that each device keeps for its arena with copies of constants, before buffers get any."""
        return self.firmware.constants_bytes

    @cached_property
    def firmware(self) -> Firmware:
        """The generated programs."""
        return Firmware.of(self.problem, self.assignment)

    @cached_property
    def l_s(self) -> float:
        """Computational latency L in seconds: all layers on their devices (formula 2)."""
        return sum(self.layer_seconds)

    @cached_property
    def t_s(self) -> float:
        """Communication latency T in seconds: all cuts (formula 4), and host transfers if they are counted."""
        return sum(cut.seconds for cut in self.cuts) - self._resuming_s + self.host_s

    @property
    def _resuming_s(self) -> float:
        """Seconds until boards that waited for a tensor go on, which the seconds of the cuts contain."""
        return sum(self.problem.handoff_parts.resuming_s(cut.receiver) for cut in self.cuts)

    @property
    def host_s(self) -> float:
        """Seconds of host transfers, 0 if they are not counted."""
        return sum(seconds for _, seconds in host_transfers(self.problem, self.assignment))

    @cached_property
    def i_s(self) -> float:
        """Inference latency I = L + T in seconds (formula 5), and until boards that waited go on.

        It is less of a distributed network, by the event engine, and infinite where a layer or a cut takes for ever.
        """
        one_after_the_other_s = self.l_s + self.t_s + self._resuming_s
        if not self.problem.is_distributed or not isfinite(one_after_the_other_s):
            return one_after_the_other_s
        return Timing((self.firmware.program,)).i_s + self.host_s

    @cached_property
    def flash_bytes(self) -> tuple[int, ...]:
        """Flash of every device: the sum over its layers."""
        return flash_bytes(self.problem, self.assignment)

    @cached_property
    def ram_bytes(self) -> tuple[int, ...]:
        """Peak RAM of every device."""
        return ram_bytes(self.problem, self.assignment)

    @cached_property
    def link_bytes(self) -> tuple[int, ...]:
        """RAM of every device that links take beside the peak."""
        return link_bytes(self.problem, self.assignment, self.ram_bytes)

    @cached_property
    def period_s(self) -> float:
        """Period in seconds, as the problem's `period_definition` has it; throughput is its inverse."""
        if self.problem.period_definition is Period.FIRMWARE:
            return self.firmware.period_s if isfinite(self.l_s + self.t_s) else inf
        return period_s(self.problem, self.assignment)

    @cached_property
    def blocking(self) -> tuple[BoardStep, ...]:
        """The transfers for which a board of the generated firmware waits, as it lacks the RAM for a buffer."""
        return self.firmware.program.blocking

    @cached_property
    def energy_j(self) -> float:
        """Energy of one inference in joules."""
        return energy_j(self.problem, self.assignment, self.problem.frame_period_s or self.period_s)

    @property
    def value(self) -> float:
        """What the objective minimises: I or the period in seconds, or the energy in joules."""
        if self.problem.objective is Objective.THROUGHPUT:
            return self.period_s
        if self.problem.objective is Objective.ENERGY:
            return self.energy_j
        return self.i_s

    @property
    def is_feasible(self) -> bool:
        """Whether every device has the memory, all times are finite, and all rules and limits hold."""
        return self.is_feasible_with([device.flash_bytes for device in self.problem.devices])

    def is_feasible_with(self, flash_bytes: Sequence[int]) -> bool:
        """Return whether it is feasible if the devices have so much flash for layers."""
        fits = self._obeys_rules and self._fits_memories(flash_bytes)
        return fits and isfinite(self.i_s) and self._is_within_limits

    @property
    def _obeys_rules(self) -> bool:
        uses_all = not self.problem.must_use_all or len(set(self.assignment)) == len(self.problem.devices)
        return uses_all and all(self.assignment[layer] == self.assignment[layer + 1] for layer in self.problem.joined)

    def _fits_memories(self, flash_bytes: Sequence[int]) -> bool:
        linked, limits = linked_devices(self.problem, self.assignment), self.problem.arena_limits
        return all(
            flash <= flash_bytes[index] + (0 if index in linked else device.link_flash_bytes)
            and self.ram_bytes[index] <= limits[index]
            and self.ram_bytes[index] + self.link_bytes[index] <= device.ram_bytes
            for index, (flash, device) in enumerate(zip(self.flash_bytes, self.problem.devices, strict=True))
        )

    @property
    def _is_within_limits(self) -> bool:
        problem = self.problem
        return (
            within(self.i_s, problem.max_latency_s)
            and (not isfinite(problem.longest_period_s) or within(self.period_s, problem.longest_period_s))
            and (not isfinite(problem.max_energy_j) or within(self.energy_j, problem.max_energy_j))
        )


def evaluate(problem: Problem, assignment: Assignment) -> Evaluation:
    """Return the figures of `assignment`, the 0-based device of every layer; any assignment is allowed."""
    return Evaluation(with_kernels_of(problem, assignment), assignment)
