"""The printed errors and intervals of a calibration."""

from io import StringIO

from rich.console import Console

from tinysplit.calibration.fitted_kernels import print_calibration
from tinysplit.kernels.cost_table import CycleTable, FitErrors, FitQuality, KernelCosts, shipped_table


def fitted(held_out: FitErrors | None) -> CycleTable:
    errors = FitErrors(layers=34, mean=0.0123, worst=0.086)
    quality = FitQuality(fitted=errors, held_out=held_out, intervals={"macc": (46.5, 47.25)})
    costs = KernelCosts(cycles={"macc": 47.0}, code_bytes=100, quality=quality)
    return shipped_table().model_copy(update={"cores": {"cortex-m4": {"8": {"dense": costs}}}})


def printed(table: CycleTable, *, has_parts: bool = False) -> list[list[str]]:
    console = Console(file=StringIO(), width=120)
    print_calibration(table, console, has_parts=has_parts)
    assert isinstance(console.file, StringIO)
    return [line.split() for line in console.file.getvalue().splitlines() if line.strip()]


def test_errors_of_a_kernel() -> None:
    row = printed(fitted(FitErrors(layers=9, mean=0.002, worst=0.5)))[1]
    assert row == ["cortex-m4", "dense", "8", "34", "1.2", "8.6", "9", "0.2", "50.0"]
    assert printed(fitted(None))[1] == ["cortex-m4", "dense", "8", "34", "1.2", "8.6", "0"]


def test_intervals_of_parts() -> None:
    *_, row = printed(fitted(None), has_parts=True)
    assert row == ["cortex-m4", "dense", "macc", "8", "47", "46.5", "47.25"]


def test_nothing_is_printed_without_fitted_kernels() -> None:
    assert printed(shipped_table(), has_parts=True) == []
