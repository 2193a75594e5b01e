"""Cycles and bytes of our own kernels: the measured table cycles.json, and the fit that it is made with."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
from pydantic import NonNegativeFloat, NonNegativeInt, ValidationError

from tinysplit.common.errors import ToolError
from tinysplit.common.file_schema import FileModel, first_mistake
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.window import Window

Work = Mapping[str, float]  # how often each part of a kernel runs, by the part's name

TABLE_NAME = "cycles.json"
ONCE = "layer"  # what a kernel takes beside its parts, as a part that runs once


class KernelCosts(FileModel):
    """What the kernels of one kind cost on one core with values of one width, in cycles and bytes of code."""

    cycles: dict[str, NonNegativeFloat]  # a run of each part
    code_bytes: NonNegativeInt

    def of(self, work: Work, times: int = 1) -> float:
        """Return the cycles of a layer that takes `work` so many times; parts that were never seen cost nothing."""
        once = sum(self.cycles.get(part, 0.0) * count for part, count in work.items())
        return self.cycles.get(ONCE, 0.0) + times * once


class FirmwareBytes(FileModel):
    """What the firmware takes of a board before any layer; `ram_bytes` with the stack's reserve."""

    flash_bytes: NonNegativeInt
    ram_bytes: NonNegativeInt


class CycleTable(FileModel):
    """The file; cores are GCC's -mcpu names, bits "8" and "16", kinds `Kernel.cost_kind`."""

    schema_version: Literal[2]
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

        A kernel that was never measured counts as the plain kernel, which is slower.
        """
        costs = self.measured(core, bits, kind) or self.measured(core, bits, kind.split("/", maxsplit=1)[0])
        if costs is None:
            raise ToolError(f"{TABLE_NAME} knows no {kind} of {bits} bits on {core}: run {self.made_by}")
        return costs


@cache
def load_cycle_table() -> CycleTable:
    """Read the table of this installation."""
    text = files("tinysplit.kernels").joinpath(TABLE_NAME).read_text(encoding="utf-8")
    try:
        return CycleTable.model_validate(json.loads(text))
    except ValueError as error:
        reason = first_mistake(error) if isinstance(error, ValidationError) else str(error)
        raise ToolError(f"{TABLE_NAME} of this installation is damaged ({reason}): install tinysplit again") from None


def plain_work(layer: Layer) -> Work:
    """Return the work of the plain loops, which leave padding out.

    `macc`: products, comparisons or elements; `row`: kernel rows, output by output; `border`: outputs whose window
    reaches over the map; `pixel`; `signed`: outputs from inputs that may be negative.
    """
    height, width, channels = layer.out_shape
    window: Window | None = getattr(layer, "window", None)
    size = layer.out_shape.size
    work = {
        "macc": float(layer.operator_macc),
        "output": size,
        "pixel": height * width,
        "signed": size * (layer.x_clamp.low < 0),
    }
    if window is None:
        return work
    rows, columns = window.covered(layer.in_shape)
    whole = int((rows == window.kernel[0]).sum() * (columns == window.kernel[1]).sum())
    return work | {
        "macc": layer.operator_macc * float(rows.mean() * columns.mean()) / window.elements,
        "row": channels * float(rows.sum() * columns.size),
        "border": channels * (height * width - whole),
    }


def pool_work(layer: Layer, window: Window, straight: int) -> Work:
    """Return the work of pools and their like, in which a channel's window is all that is looped over.

    The compiler makes no loop of up to `straight` columns, nor of the rows of so few elements: such parts have other
    names, as far as windows lie within the map. `division`: by window elements that are no power of two; `signed`:
    elements that may be negative.
    """
    rows, columns = window.covered(layer.in_shape)
    whole, size = int((rows == window.kernel[0]).sum() * (columns == window.kernel[1]).sum()), layer.out_shape.size
    channels, every = layer.out_shape.channels, rows.size * columns.size
    name = "straight_" if window.kernel[1] <= straight else ""
    work = {
        "output": size,
        "pixel": every,
        "border": channels * (every - whole),
        "border_macc": channels * (float(rows.sum() * columns.sum()) - whole * window.elements),
        f"{name}macc": channels * whole * window.elements,
        "division": size * (window.elements.bit_count() > 1),
        "signed": channels * whole * window.elements * (layer.x_clamp.low < 0),
    }
    if window.elements > 2 * straight:
        work[f"{name}row"] = channels * whole * window.kernel[0]
    return work


def fit(measured: Iterable[tuple[str, Work, float]]) -> Mapping[str, Mapping[str, float]]:
    """Return the cycles of every part, by kind, from kinds, their work and the measured cycles.

    Least squares of the relative error, so that small layers count as much as large ones, with no negative cost.
    """
    rows: dict[str, list[tuple[Work, float]]] = {}
    for kind, work, cycles in measured:
        rows.setdefault(kind, []).append(({ONCE: 1.0, **work}, cycles))
    return {kind: _fit_kind(own) for kind, own in rows.items()}


def _fit_kind(rows: Sequence[tuple[Work, float]]) -> Mapping[str, float]:
    from scipy.optimize import nnls  # noqa: PLC0415 (half a second, for what only the calibration needs)

    parts = sorted({part for work, _ in rows for part in work})
    counts = np.array([[work.get(part, 0.0) / cycles for part in parts] for work, cycles in rows])
    scales = np.maximum(counts.max(axis=0), np.finfo(np.float64).tiny)  # so that all columns count alike
    costs, _ = nnls(counts / scales, np.ones(len(rows)))
    return {part: float(cost) for part, cost in zip(parts, costs / scales, strict=True) if cost > 0}
