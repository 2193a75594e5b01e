"""Cycles and bytes of our own kernels: the measured table data/cycles.json, and the fit that it is made with."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, NonNegativeInt, ValidationError

from tinysplit.errors import ToolError
from tinysplit.file_schema import FileModel, first_mistake
from tinysplit.layers.base import Layer

TABLE_NAME = "cycles.json"
TIE = 1e-12  # of squared relative errors: then the fewer costs the better


class KernelCosts(FileModel):
    """What the kernels of one kind cost on one core with values of one width, in cycles and bytes of code."""

    per_macc: NonNegativeFloat
    per_output: NonNegativeFloat
    per_moved: NonNegativeFloat = 0.0
    per_layer: NonNegativeFloat
    code_bytes: NonNegativeInt

    def cycles(self, work: "Work") -> float:
        """Return the cycles of a layer that takes `work`."""
        return self.per_macc * work.macc + self.per_output * work.outputs + self.per_moved * work.moved + self.per_layer


class FirmwareBytes(FileModel):
    """What the firmware takes of a board before any layer; `ram_bytes` with the stack's reserve."""

    flash_bytes: NonNegativeInt
    ram_bytes: NonNegativeInt


class CycleTable(FileModel):
    """The file; cores are GCC's -mcpu names, bits "8" and "16", kinds `Technique.cost_kind`."""

    schema_version: Literal[1]
    made_by: str  # command
    compiler: str
    flags: str
    cores: dict[str, dict[str, dict[str, KernelCosts]]]
    firmware: dict[str, FirmwareBytes]  # by family
    link: dict[str, NonNegativeFloat]  # by core: cycles that a board adds to a transfer, at either end

    def measured(self, core: str, bits: int, kind: str) -> KernelCosts | None:
        """Return the costs of a kind of layer, None when it was never measured."""
        return self.cores.get(core, {}).get(str(bits), {}).get(kind)

    def kernel(self, core: str, bits: int, kind: str) -> KernelCosts:
        """Return the costs of a kind of layer; ToolError when it was never measured.

        A technique that was never measured counts as the plain kernel, which is slower.
        """
        costs = self.measured(core, bits, kind) or self.measured(core, bits, kind.split("/", maxsplit=1)[0])
        if costs is None:
            raise ToolError(f"{TABLE_NAME} knows no {kind} of {bits} bits on {core}: run {self.made_by}")
        return costs


@cache
def load_cycle_table() -> CycleTable:
    """Read the table of this installation."""
    text = files("tinysplit").joinpath("data", TABLE_NAME).read_text(encoding="utf-8")
    try:
        return CycleTable.model_validate(json.loads(text))
    except ValueError as error:
        reason = first_mistake(error) if isinstance(error, ValidationError) else str(error)
        raise ToolError(f"{TABLE_NAME} of this installation is damaged ({reason}): install tinysplit again") from None


class Work(NamedTuple):
    """What a kernel does: multiply-accumulates (or comparisons), outputs, and values moved to a scratch buffer."""

    macc: float
    outputs: int
    moved: int = 0

    @classmethod
    def of(cls, layer: Layer) -> "Work":
        """Return the work of a kernel that leaves padding out and moves nothing."""
        window = getattr(layer, "window", None)
        share = float(window.counts(layer.in_shape).mean()) / window.elements if window else 1.0
        return cls(layer.operator_macc * share, layer.out_shape.size)

    def times(self, count: int) -> "Work":
        """Return the work of so many of the same layers, one after the other."""
        return Work(self.macc * count, self.outputs * count, self.moved * count)


def fit(measured: Iterable[tuple[str, Work, float]]) -> Mapping[str, Sequence[float]]:
    """Return (per_macc, per_output, per_moved, per_layer) by kind from kinds, their work and the measured cycles.

    Least squares of the relative error, so that small layers count as much as large ones, with no negative cost.
    """
    rows: dict[str, list[tuple[float, ...]]] = {}
    for kind, work, cycles in measured:
        rows.setdefault(kind, []).append((*work, 1.0, cycles))
    return {kind: _fit_kind(np.array(table, dtype=float)) for kind, table in rows.items()}


def _fit_kind(table: NDArray[np.float64]) -> list[float]:
    """Solve non-negative least squares by trying every set of positive columns: there are fifteen."""
    relative = table[:, :-1] / table[:, -1:]
    target = np.ones(len(table))
    best, best_error = np.zeros(relative.shape[1]), np.inf
    for count in range(1, relative.shape[1] + 1):
        for columns in map(list, combinations(range(relative.shape[1]), count)):
            solution, *_ = np.linalg.lstsq(relative[:, columns], target, rcond=None)
            error = float(np.sum((relative[:, columns] @ solution - target) ** 2))
            if np.all(solution >= 0) and error < best_error - TIE:
                best, best_error = np.zeros(relative.shape[1]), error
                best[columns] = solution
    return [float(cost) for cost in best]
