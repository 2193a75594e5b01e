"""Report of a simulated split: latency, period, waiting time, buffers, and power with and without sleep."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tinysplit.boards.board import no_energy_model
from tinysplit.common.tables import plain_table
from tinysplit.common.units import MILLI, MS, PERCENT
from tinysplit.split.problem import DeviceLimits
from tinysplit.timing.power import Waiting, board_w, split_w
from tinysplit.timing.results import BoardTimes, Buffers, Simulated

_WAITING = {
    Waiting.POLL: "poll while they wait",
    Waiting.SLEEP: "sleep while they wait, as the firmware does",
}


@dataclass(frozen=True)
class SimulationReport:
    """A simulation; `latency_s` is I of one inference on boards at rest, without losses."""

    simulated: Simulated
    devices: Sequence[DeviceLimits]
    latency_s: float
    loss_rate: float

    @property
    def inferences(self) -> int:
        """Number of inferences."""
        return len(self.simulated.passages)

    @property
    def t_s(self) -> float:
        """Mean T of an inference."""
        return sum(self.simulated.t_s) / self.inferences

    def power_w(self, waiting: Waiting) -> float | None:
        """Return the mean power of all boards, None if the current of one is not known."""
        return split_w(self.simulated, self.devices, waiting)

    def energy_j(self, waiting: Waiting) -> float | None:
        """Return the mean energy of an inference."""
        power_w = self.power_w(waiting)
        return None if power_w is None else power_w * self.simulated.end_s / self.inferences

    def to_json(self) -> dict[str, Any]:
        """Return all figures: times in seconds, power in W, energy in J."""
        found = self.simulated
        return {
            "loss_rate": self.loss_rate,
            "repeated_frames": found.repeated_frames,
            "L": found.l_s,
            "T": self.t_s,
            "I": self.latency_s,
            "mean_I_in_flight": sum(found.inference_s) / self.inferences,
            "period_s": found.period_s,
            "span_s": found.end_s,
            "queue": {"mean": found.queue.mean(found.end_s), "highest": found.queue.highest},
            "boards": [self._board(*each) for each in zip(found.boards, found.buffers, strict=True)],
            "power_w": {waiting.value: self.power_w(waiting) for waiting in Waiting},
            "energy_j": {waiting.value: self.energy_j(waiting) for waiting in Waiting},
        }

    def _board(self, times: BoardTimes, buffers: Buffers) -> dict[str, Any]:
        span_s, device = self.simulated.end_s, self.devices[times.device]
        return {
            "number": times.device + 1,
            "name": device.name,
            "computing_s": times.computing_s,
            "moving_s": times.moving_s,
            "waiting_s": times.waiting_s(span_s),
            "buffers": {
                "count": buffers.count,
                "bytes": buffers.size_bytes,
                "mean": buffers.level.mean(span_s),
                "highest": buffers.level.highest,
            },
            "power_w": {waiting.value: board_w(times, device, span_s, waiting) for waiting in Waiting},
        }


def print_simulation(report: SimulationReport, console: Console) -> None:
    """Print T and the time between outputs, a row for each board, and power."""
    found = report.simulated
    period = "" if found.period_s is None else f", an output every {MS * found.period_s:.2f} ms"
    console.print(f"T {MS * report.t_s:.2f} ms on average{period}", highlight=False)
    if report.loss_rate:
        console.print(
            f"{report.loss_rate:g} of all bytes on links lost: {found.repeated_frames} frames repeated", highlight=False
        )
    table = plain_table("board", numbers=("computes", "moves", "waits", "waits ms", "buffers", "in use", "most"))
    for times, buffers in zip(found.boards, found.buffers, strict=True):
        name = f"{times.device + 1} {report.devices[times.device].name}"
        table.add_row(name, *_cells(times, buffers, found.end_s, report.inferences))
    console.print(table)
    console.print(
        f"inputs that wait for a board: {found.queue.mean(found.end_s):.2f} on average, {found.queue.highest} at most",
        highlight=False,
    )
    _print_power(report, console)


def _cells(times: BoardTimes, buffers: Buffers, span_s: float, inferences: int) -> Iterator[str]:
    for seconds in (times.computing_s, times.moving_s, times.waiting_s(span_s)):
        yield f"{PERCENT * seconds / span_s:.1f} %"
    yield f"{MS * times.waiting_s(span_s) / inferences:.2f}"
    level = buffers.level
    yield from (str(buffers.count), f"{level.mean(span_s):.2f}", str(level.highest))


def _print_power(report: SimulationReport, console: Console) -> None:
    unknown = [device.name for device in report.devices if not device.run_w]
    if report.power_w(Waiting.POLL) is None:
        console.print(no_energy_model(unknown[0]), highlight=False, markup=False)
        return
    table = plain_table("boards", numbers=("mean mW", "mJ an inference"))
    for waiting, text in _WAITING.items():
        figures = (report.power_w(waiting) or 0.0, report.energy_j(waiting) or 0.0)
        table.add_row(text, *(f"{MILLI * figure:.2f}" for figure in figures))
    console.print(table)
