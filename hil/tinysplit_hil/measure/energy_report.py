"""Energy of an inference: estimated, and by the account of virtual boards. It proves cycles, not currents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tinysplit.boards.board import no_energy_model
from tinysplit.common.tables import plain_table
from tinysplit.common.units import MILLI, MS, PERCENT
from tinysplit.project.activity import BoardActivity
from tinysplit.project.energy import board_energy_j
from tinysplit.project.manifest import Project
from tinysplit.settings.measurement import SAMPLE_COUNT

TOO_SHORT = (
    "energy in a stream: {} samples are too few, the boards were never all in a steady state; increase "
    f"{SAMPLE_COUNT.option}"
)
NOTE = "by the virtual boards' account of run and sleep cycles, which proves cycles, not currents; MCUs only"


@dataclass(frozen=True)
class Energy:
    """What the boards do with the time of an inference, estimated and measured.

    The latter is empty of real boards, and where virtual ones ran too few samples: `why_not_measured`.
    """

    project: Project
    estimated: Sequence[BoardActivity]
    measured: Sequence[BoardActivity]
    why_not_measured: str | None = None

    @property
    def why_not(self) -> str | None:
        """Why there is no energy: the currents of a board were not known when the project was generated."""
        boards = (self.project.board(each.board) for each in self.estimated)
        unknown = next((board.name for board in boards if board.run_w is None), None)
        return no_energy_model(unknown) if unknown else None

    def energy_j(self, activities: Sequence[BoardActivity]) -> float | None:
        """Return the joules of an inference, None without activities, and without the currents of all boards."""
        total_j = 0.0
        for activity in activities:
            own_j = board_energy_j(self.project.board(activity.board), activity)
            if own_j is None:
                return None
            total_j += own_j
        return total_j if activities else None

    def to_json(self) -> dict[str, Any]:
        """Return energies in J, mean powers in W and the seconds of all boards."""
        return {
            "estimated": self._figures(self.estimated),
            "measured": self._figures(self.measured),
            "measured_note": NOTE if self.measured else self.why_not_measured,
            "why_not": self.why_not,
        }

    def _figures(self, activities: Sequence[BoardActivity]) -> dict[str, Any] | None:
        if not activities:
            return None
        energy_j = self.energy_j(activities)
        span_s = max(each.span_s for each in activities)
        return {
            "energy_j": energy_j,
            "mean_power_w": None if energy_j is None else energy_j / span_s,
            "boards": [each.model_dump() for each in activities],
        }

    def rows(self, title: str) -> Iterator[tuple[str, ...]]:
        """Yield what of a table is estimated and measured, and their difference."""
        known = [(name, each) for name, each in (("estimated", self.estimated), ("measured", self.measured)) if each]
        for name, activities in known:
            energy_j = self.energy_j(activities)
            span_s = max(each.span_s for each in activities)
            shares = ", ".join(f"{max(0.0, PERCENT * each.sleep_s / each.span_s):.1f}" for each in activities)
            joules = ("-", "-") if energy_j is None else (f"{MILLI * energy_j / span_s:.2f}", f"{MILLI * energy_j:.3f}")
            yield (title, name, f"{MS * span_s:.2f}", *joules, shares)


def print_energy(energies: Sequence[tuple[str, Energy]], console: Console) -> None:
    """Print a row for each energy, estimated and measured."""
    table = plain_table("energy", "", numbers=("ms", "mean mW", "mJ an inference", "boards sleep, %"))
    for title, energy in energies:
        for row in energy.rows(title):
            table.add_row(*row)
    console.print(table)
    reasons = [reason for _, energy in energies for reason in (energy.why_not, energy.why_not_measured) if reason]
    for reason in dict.fromkeys(reasons):
        console.print(reason, highlight=False, markup=False, soft_wrap=True)
    if any(energy.measured for _, energy in energies):
        console.print(f"measured {NOTE}", highlight=False, soft_wrap=True)
