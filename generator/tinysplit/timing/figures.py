"""The figures of a placement, all of them from the event engine: L, T, I, the period, energy and power."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tinysplit.common.units import MILLI, PERCENT
from tinysplit.timing.bottleneck import Bottleneck
from tinysplit.timing.power import Powered, awake_s
from tinysplit.timing.program import BoardStep, Program
from tinysplit.timing.results import Activity, BoardTimes, Event, Output, Simulated
from tinysplit.timing.simulation import simulate

FEW_BEYOND = 2  # inputs beyond one a board until a stream is steady, and again before its end
COUNTED = 12  # inferences of a steady stream: outputs may come in groups of 2, 3, 4 or 6
WORTH_IT = 0.01  # of the energy


class BoardTime(NamedTuple):
    """Seconds of an inference in which a device runs (computes, moves tensors, or waits awake), sleeps and stops."""

    device: int
    run_s: float
    sleep_s: float
    stop_s: float = 0.0

    @classmethod
    def of(cls, times: BoardTimes, span_s: float, count: int = 1) -> "BoardTime":
        """Return what a board does for each of `count` inferences that take `span_s` together."""
        run_s = times.computing_s + times.moving_s + awake_s(times, span_s)
        stop_s = times.stopped_s
        return cls(times.device, run_s / count, (span_s - run_s - stop_s) / count, stop_s / count)

    def energy_j(self, powered: Powered) -> float:
        """Return the joules that it takes."""
        stop_w = powered.idle_w if powered.stop_w is None else powered.stop_w
        return powered.run_w * self.run_s + powered.idle_w * self.sleep_s + stop_w * self.stop_s


class Steady(NamedTuple):
    """A steady stream: the seconds between two outputs, what boards do in them, and how long each works, by device."""

    interval_s: float
    activities: tuple[BoardTime, ...]
    working_s: Mapping[int, float]


def steady_stream(program: Program, interval_s: float = 0.0) -> Steady:
    """Return the stream of a pipeline, with an input every `interval_s`; 0: as soon as there is room."""
    few = len(program.devices) + FEW_BEYOND
    arrivals_s = [interval_s * number for number in range(few + COUNTED + few)]
    outputs = simulate([program], arrivals_s, keeps_outputs=True).outputs
    return _between(outputs[few], outputs[few + COUNTED])


def _between(first: Output, last: Output) -> Steady:
    span_s = last.read_s - first.read_s
    times = [after.since(before) for before, after in zip(first.boards, last.boards, strict=True)]
    working_s = {each.device: (each.computing_s + each.moving_s) / COUNTED for each in times}
    return Steady(span_s / COUNTED, tuple(sorted(BoardTime.of(each, span_s, COUNTED) for each in times)), working_s)


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
        sleeping = f"{MILLI * self.sleeping_w:.2f} mW"
        polling = f"{MILLI * self.polling_w:.2f} mW, {MILLI * self.polling_j:.3f} mJ"
        pays = f"pays, it saves {PERCENT * self.saved:.0f} %" if self.saved >= WORTH_IT else "hardly pays"
        return f"mean power {sleeping}; without sleep {polling}: sleeping while boards wait {pays}"


@dataclass(frozen=True, eq=False)
class Timing:
    """The figures of a network, of which each of `programs` computes a copy; each is computed when it is first read.

    L, T and I (Santamaria 2021, formulas 2, 4 and 5) are those of the copy with the largest I, of one inference on
    boards at rest; I is less than L + T where boards compute while tensors cross, or side by side. Inputs come every
    `interval_s`, 0: as soon as there is room.
    """

    programs: tuple[Program, ...]
    interval_s: float = 0.0

    @property
    def alone(self) -> Simulated:
        """One inference on boards at rest, of the slowest copy."""
        return self._slowest[1]

    @cached_property
    def each_alone(self) -> tuple[Simulated, ...]:
        """One inference on boards at rest, of each copy."""
        return tuple(simulate([program], (0.0,)) for program in self.programs)

    @property
    def _slowest(self) -> tuple[Program, Simulated]:
        alone = zip(self.programs, self.each_alone, strict=True)
        return max(alone, key=lambda each: each[1].inference_s[0])

    @property
    def events_alone(self) -> tuple[Event, ...]:
        """What boards and links do in one inference of the slowest copy, in seconds from its begin on the boards."""
        events = simulate([self._slowest[0]], (0.0,), keeps_events=True).events
        begin_s = min(event.start_s for event in events if event.activity in {Activity.COPY, Activity.LAYER})
        return tuple(event._replace(start_s=event.start_s - begin_s, end_s=event.end_s - begin_s) for event in events)

    @property
    def l_s(self) -> float:
        """Computational latency L in seconds: all layers."""
        return self.alone.l_s

    @property
    def t_s(self) -> float:
        """Communication latency T in seconds: all transfers."""
        return self.alone.t_s[0]

    @property
    def i_s(self) -> float:
        """Inference latency I in seconds, from when the boards have the input to when they have the output."""
        return self.alone.inference_s[0]

    @cached_property
    def activities_alone(self) -> tuple[BoardTime, ...]:
        """What boards do for one inference at rest, from its first byte at the host until its output was read."""
        span_s = self.alone.end_s
        return tuple(sorted(BoardTime.of(times, span_s) for times in self.alone.boards))

    @cached_property
    def _full_speed(self) -> tuple[Steady, ...]:
        return tuple(map(steady_stream, self.programs))

    @property
    def period_s(self) -> float:
        """Seconds between two outputs while inputs wait; the rates of copies add up."""
        return period_of_copies_s([each.interval_s for each in self._full_speed])

    @property
    def bottleneck(self) -> Bottleneck:
        """What is busy for most of the time between two outputs, of the slowest copy."""
        copies = zip(self.programs, self._full_speed, strict=True)
        program, slowest = max(copies, key=lambda each: each[1].interval_s)
        return Bottleneck.of(program, slowest.working_s, slowest.interval_s)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the inputs that each copy computes."""
        return tuple(self.period_s / each.interval_s for each in self._full_speed)

    @cached_property
    def activities_in_stream(self) -> tuple[BoardTime, ...]:
        """What boards do for an inference among many; copies share the inputs by their speeds."""
        return tuple(self._shared(max(self.period_s, self.interval_s)))

    @property
    def stopped_shares(self) -> Iterator[tuple[int, float]]:
        """Yield each device and the share of its time among many inferences in which it is in stop mode."""
        for each in self.activities_in_stream:
            yield each.device, each.stop_s / (each.run_s + each.sleep_s + each.stop_s)

    def _shared(self, interval_s: float) -> Iterable[BoardTime]:
        """Yield the activities in `interval_s`, of all copies."""
        for program, fast, share in zip(self.programs, self._full_speed, self.shares, strict=True):
            own_s = interval_s / share
            own = steady_stream(program, own_s) if interval_s > self.period_s else fast
            yield from (
                each._replace(run_s=share * each.run_s, sleep_s=share * each.sleep_s, stop_s=share * each.stop_s)
                for each in own.activities
            )

    @property
    def blocking(self) -> tuple[BoardStep, ...]:
        """The transfers for which a board waits, as it lacks the RAM for a buffer."""
        return tuple(step for program in self.programs for step in program.blocking)

    def energy_j(self, devices: Sequence[Powered]) -> float:
        """Return joules of an inference among many, of all boards that take part."""
        return sum(each.energy_j(devices[each.device]) for each in self.activities_in_stream)

    def power(self, devices: Sequence[Powered]) -> PowerFigures | None:
        """Return mean power and energy, None where the power of a board is not known."""
        used = self.activities_in_stream
        if not all(devices[each.device].run_w for each in used):
            return None
        interval_s, energy_j = max(self.period_s, self.interval_s), self.energy_j(devices)
        polling_w = sum(devices[each.device].run_w for each in used)
        return PowerFigures(energy_j / interval_s, energy_j, polling_w, polling_w * interval_s)


def period_of_copies_s(periods_s: Sequence[float]) -> float:
    """Return the period in seconds of copies with these periods: their rates add up."""
    return periods_s[0] if len(periods_s) == 1 else 1 / sum(1 / period_s for period_s in periods_s)
