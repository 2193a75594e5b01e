"""Energy of an inference: estimated, and by the account of virtual boards. It proves cycles, not currents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tinysplit.common.tables import plain_table
from tinysplit.common.units import MILLI, MS, PERCENT
from tinysplit.project.activity import BoardActivity, energy_of
from tinysplit.project.manifest import Project

NOTE = "by the virtual boards' account of run and sleep cycles, which proves cycles, not currents; MCUs only"


@dataclass(frozen=True)
class Energy:
    """What the boards do with the time of an inference, estimated and measured; the latter is empty of real boards."""

    project: Project
    estimated: Sequence[BoardActivity]
    measured: Sequence[BoardActivity]

    def energy_j(self, activities: Sequence[BoardActivity]) -> float | None:
        """Return the joules of an inference, None without activities."""
        return energy_of(activities, dict(self.project.numbered_names)) if activities else None

    def to_json(self) -> dict[str, Any]:
        """Return energies in J, mean powers in W and the seconds of all boards."""
        return {
            "estimated": self._figures(self.estimated),
            "measured": self._figures(self.measured),
            "measured_note": NOTE if self.measured else None,
        }

    def _figures(self, activities: Sequence[BoardActivity]) -> dict[str, Any] | None:
        energy_j = self.energy_j(activities)
        if energy_j is None:
            return None
        return {
            "energy_j": energy_j,
            "mean_power_w": energy_j / max(each.span_s for each in activities),
            "boards": [each.model_dump() for each in activities],
        }

    def rows(self, title: str) -> Iterator[tuple[str, ...]]:
        """Yield what of a table is estimated and measured, and their difference."""
        found = [(name, each) for name, each in (("estimated", self.estimated), ("measured", self.measured)) if each]
        for name, activities in found:
            energy_j = self.energy_j(activities) or 0.0
            span_s = max(each.span_s for each in activities)
            shares = ", ".join(f"{PERCENT * each.sleep_s / each.span_s:.1f}" for each in activities)
            figures = (f"{MS * span_s:.2f}", f"{MILLI * energy_j / span_s:.2f}", f"{MILLI * energy_j:.3f}", shares)
            yield (title, name, *figures)


def print_energy(energies: Sequence[tuple[str, Energy]], console: Console) -> None:
    """Print a row for each energy, estimated and measured."""
    table = plain_table("energy", "", numbers=("ms", "mean mW", "mJ an inference", "boards sleep, %"))
    for title, energy in energies:
        for row in energy.rows(title):
            table.add_row(*row)
    console.print(table)
    if any(energy.measured for _, energy in energies):
        console.print(f"measured {NOTE}", highlight=False, soft_wrap=True)
