"""Cycles and bytes of code of the layers of networks, built and run on a rig as `tinysplit run` does."""

import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from tinysplit.boards.board import Board
from tinysplit.build.elf import ElfSizes
from tinysplit.calibration.project import PlannedNetwork, plan_kernels
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import CheckFailedError, ToolError
from tinysplit.kernels import Kernel
from tinysplit.kernels.cost_table import CycleTable, Work
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.layout import MOVE_CYCLES
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.project.manifest import Project, ProjectLayer
from tinysplit_hil.bench.flash import flash_rig
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.rig.rig import VirtualSettings, open_rig

RUNS = 3  # of the one input of a network, where its times differ
LONG_FIRST_LAYER = 200_000  # cycles: the host takes about 1000 from the first layer of a Cortex-M0+
MOST_SPREAD = 0.05  # of the times of one layer with one input, relative to the shortest
HOST_CYCLES = 1000  # of interrupts, which hit one of the first layers or another


@dataclass(frozen=True)
class CalibrationBench:
    """Where networks run: a rig as `open_rig` takes it, with ideal memory or with that of the boards."""

    rig: str = VIRTUAL
    has_ideal_memory: bool = True
    timing: Path | None = None  # file with rules of virtual boards
    programmer: ProgrammerName = ProgrammerName.OPENOCD

    @property
    def run_count(self) -> int:
        """How often a network runs: in ideal memory of virtual boards all runs take the same cycles."""
        return 1 if self.rig == VIRTUAL and self.has_ideal_memory else RUNS


@dataclass(frozen=True)
class MeasuredLayer:
    """A layer of a network on one core: `cycles` of all of it, of which `kernel_cycles` are its kernel's."""

    core: str
    bits: int
    kind: str  # of the cost table
    work: Work
    cycles: float
    kernel_cycles: float
    code_bytes: int


def measure_layers(
    table: CycleTable,
    quantized: QuantizedGraph,
    x: IntArray,
    board: Board,
    bench: CalibrationBench,
    wanted: Container[str] | None = None,
) -> Iterator[MeasuredLayer]:
    """Yield the layers of a network, which runs on input `x` (1 x H x W x C), by each kernel that can compute them.

    `wanted`: kinds of the cost table, None for all. Layers that do not fit the board are left out. Raises ToolError for
    times that are not plausible, and the errors of builds and rigs.
    """
    for planned, numbers in plan_kernels(table, quantized, board, wanted):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "out"
            try:
                project, report = planned.build(folder)
            except CheckFailedError:  # the program is too large for the board
                continue
            cycles = run_layers(project, folder, x, bench)
        sizes = report.boards[0].sizes
        for layer in project.layers:
            if layer.number - 1 in numbers and layer.number in cycles:
                yield measured_layer(planned, layer, cycles[layer.number], sizes, bench)


def run_layers(project: Project, folder: Path, x: IntArray, bench: CalibrationBench) -> Mapping[int, float]:
    """Return the median of the cycles of each layer (by number from 1) of a built project of one board.

    A short first layer is left out: while it runs, the board still answers the host.
    """
    flash_rig(project, folder, bench.rig, bench.programmer, Console(quiet=True))
    with open_rig(bench.rig, project, folder, VirtualSettings(bench.has_ideal_memory, bench.timing)) as rig:
        times = measure(project, rig, np.repeat(x, bench.run_count, axis=0), fail_fast=True).layers
    board = project.boards[0].title
    for time in times:
        layer = time.layer
        title = f"layer {layer.number} ({layer.kind}/{layer.memory.kernel}) of {project.model.name} on {board}"
        check_plausible(title, time.cycles.values)
    medians = {time.layer.number: time.cycles.median for time in times}
    return {number: each for number, each in medians.items() if number > 1 or each >= LONG_FIRST_LAYER}


def check_plausible(title: str, cycles: Sequence[float]) -> None:
    """Raise ToolError unless all times of a layer with one input are positive, and nearly the same.

    They may differ by the interrupts of the host, to which the board still answers when an inference begins.
    """
    shown = ", ".join(f"{each:g}" for each in cycles)
    if min(cycles) <= 0:
        raise ToolError(f"{title} took {shown} cycles: times have to be positive; check the board's clock and timer")
    if max(cycles) > (1 + MOST_SPREAD) * min(cycles) + HOST_CYCLES:
        raise ToolError(
            f"{title} took {shown} cycles with the same input: they differ by more than {MOST_SPREAD:.0%}; check the "
            "board's clock, and that nothing else runs on it"
        )


def kernel_of(planned: PlannedNetwork, index: int) -> tuple[Kernel, QuantizedLayer, Work]:
    """Return the kernel of a layer (from 0) of a network on one board, the layer, and the work of the kernel."""
    kernel = planned.plan.boards[0].memory.kernels[index]
    quantized = planned.quantized.layers[index]
    return kernel, quantized, kernel.quantized_work(quantized.layer, quantized)


def measured_layer(
    planned: PlannedNetwork, layer: ProjectLayer, cycles: float, sizes: ElfSizes, bench: CalibrationBench
) -> MeasuredLayer:
    """Return a layer that took `cycles` on `bench`, and its kernel's share of them."""
    kernel, quantized, work = kernel_of(planned, layer.number - 1)
    return MeasuredLayer(
        core=planned.plan.boards[0].board.device.core,
        bits=planned.quantized.bits,
        kind=kernel.cost_kind(quantized.layer),
        work=work,
        cycles=cycles,
        kernel_cycles=cycles - _beside_kernel(planned, layer, bench),
        code_bytes=_code_bytes(sizes, layer.number, kernel, quantized),
    )


def _beside_kernel(planned: PlannedNetwork, layer: ProjectLayer, bench: CalibrationBench) -> float:
    """Return the cycles that are estimated beside the kernel: moves, copies of constants, waits of real memory."""
    own, index = planned.plan.boards[0], layer.number - 1
    if bench.has_ideal_memory:
        constants = own.constants.get(index)
        copies = constants.copy_cycles if constants and constants.is_copied else 0.0
        return layer.memory.moved_bytes / WORD_BYTES * MOVE_CYCLES + copies
    kernel, quantized, _ = kernel_of(planned, index)
    core, widths = own.board.device.core, Widths.of(quantized.formats)
    estimated = layer.estimated_s * own.board.clock.core_hz
    return estimated - kernel_cycles(own.table, quantized.layer, core, widths, kernel, quantized=quantized)


def _code_bytes(sizes: ElfSizes, number: int, kernel: Kernel, quantized: QuantizedLayer) -> int:
    """Return the code bytes of a layer with the largest shared function that it may need."""
    prefix = kernel.shared_code(quantized.layer)
    shared = (size for name, size in sizes.shared_code_bytes.items() if prefix and name.startswith(prefix))
    return sizes.layer_code_bytes[number] + max(shared, default=0)
