"""The errors and intervals of a calibration, as a table and as JSON."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from tinysplit.boards.board import SUPPLY_V, Board
from tinysplit.common.tables import plain_table
from tinysplit.common.units import MILLI
from tinysplit.kernels.cost_table import CycleTable, FitErrors, FitQuality, KernelCosts, MeasuredCurrents


@dataclass(frozen=True)
class FittedKernel:
    """A kernel that was measured, on a core and for values of one width."""

    core: str
    bits: int
    kind: str
    costs: KernelCosts
    quality: FitQuality


def fitted_kernels(table: CycleTable) -> Iterator[FittedKernel]:
    """Yield the kernels of a table whose fit it knows."""
    for core, by_bits in table.cores.items():
        for bits, kinds in by_bits.items():
            for kind, costs in kinds.items():
                if costs.quality:
                    yield FittedKernel(core, int(bits), kind, costs, costs.quality)


def calibration_to_json(table: CycleTable) -> dict[str, Any]:
    """Return the conditions of a calibration, and the fits of all kernels."""
    conditions = table.model_dump(include={"made_by", "compiler", "flags", "firmware_sha256", "targets"})
    kernels = [
        {**asdict(fitted), "costs": fitted.costs.cycles, "quality": fitted.quality.model_dump()}
        for fitted in fitted_kernels(table)
    ]
    return {**conditions, "kernels": kernels}


def print_calibration(table: CycleTable, console: Console, *, has_parts: bool) -> None:
    """Print the errors of each kernel, if any was fitted, and the interval of each of its parts if `has_parts`."""
    every = tuple(fitted_kernels(table))
    if not every:
        return
    errors = ("bits", "layers", "mean %", "worst %", "held out", "mean %", "worst %")
    shown = plain_table("core", "kernel", numbers=errors)
    for fitted in every:
        cells = (*_cells(fitted.quality.fitted), *_cells(fitted.quality.held_out))
        shown.add_row(fitted.core, fitted.kind, str(fitted.bits), *cells)
    console.print(shown)
    if has_parts:
        console.print()
        _print_parts(every, console)


def _cells(errors: FitErrors | None) -> tuple[str, str, str]:
    if errors is None:
        return "0", "", ""
    return str(errors.layers), f"{100 * errors.mean:.1f}", f"{100 * errors.worst:.1f}"


def _print_parts(every: Iterable[FittedKernel], console: Console) -> None:
    shown = plain_table("core", "kernel", "part", numbers=("bits", "cycles", "2.5 %", "97.5 %"))
    for fitted in every:
        for part, (low, high) in fitted.quality.intervals.items():
            figures = (fitted.costs.cycles[part], low, high)
            shown.add_row(fitted.core, fitted.kind, part, str(fitted.bits), *(f"{each:g}" for each in figures))
    console.print(shown)


def print_currents(board: Board, currents: MeasuredCurrents, console: Console) -> None:
    """Print the fitted currents beside those of the board's file."""
    table = plain_table(board.name, numbers=("measured mA", "file mA"))
    known = board.known_power
    rows = (
        ("run", currents.run_ma, known and known.run_w),
        ("sleep", currents.sleep_ma, known and known.idle_w),
    )
    for state, measured_ma, file_w in rows:
        if measured_ma is not None:
            table.add_row(state, f"{measured_ma:.4g}", f"{MILLI * file_w / SUPPLY_V:.4g}" if file_w else "-")
    console.print(table)
    console.print(f"{currents.samples} samples of {currents.source}", highlight=False, markup=False)
