"""Runs of networks on virtual boards: split, generated, built and measured."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.networks import NETWORKS, QUIET, Case
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.settings import CostSettings
from tinysplit.run import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure_folder import MeasureSettings
from tinysplit_hil.results.run_report import RunReport

SAMPLES_ON_BOARDS = 4
SAMPLES_BEYOND = 4  # of a stream, beyond two for each board
SEED = 10


def run_case(
    case: Case,
    settings: CostSettings,
    x: NDArray[np.float32],
    measuring: MeasureSettings,
    search: Search = Search(),
) -> RunReport:
    """Run a case whose formats and inputs are those of samples `x`; its links have the case's baud rate.

    The errors are those of `run`, and CheckFailedError if an output is wrong.
    """
    with tempfile.TemporaryDirectory() as name:
        samples = Path(name) / "samples.npz"
        np.savez(samples, x=x)
        request = RunRequest(
            model=NETWORKS[case.network].model,
            boards=case.boards,
            samples=samples,
            out=Path(name) / "out",
            settings=replace(settings, baud=case.baud),
            search=search,
            measuring=measuring,
        )
        report = run(request, QUIET)
    report.check()
    return report


def run_stream(case: Case, settings: CostSettings) -> RunReport:
    """Run a case with a stream of random inputs that fills the boards. The errors are those of `run_case`."""
    count = 2 * len(case.boards) + SAMPLES_BEYOND
    shape = (count, *case.graph().sample_shape)
    x = np.random.default_rng(SEED).random(shape, dtype=np.float32)
    measuring = MeasureSettings(sample_count=count, is_pipelined=True, fail_fast=True)
    return run_case(case, settings, x, measuring)


@dataclass(frozen=True)
class Ran:
    """A network on boards: cycles of an inference, by the clock of the first; flash and static RAM of the largest one.

    `result` is "yes" where outputs are bit-exact, else why not; `is_refused` where no program was generated. T, in
    seconds, is that of all tensors that cross, which have `sent_bytes`.
    """

    network: str
    boards: tuple[str, ...]
    bits: int
    result: str = "yes"
    is_refused: bool = False
    cycles: int | None = None
    flash_bytes: int | None = None
    ram_bytes: int | None = None
    sent_bytes: int | None = None
    estimated_t_s: float | None = None
    t_s: float | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether a program was generated that is not bit-exact."""
        return self.cycles is None and not self.is_refused

    @property
    def t_error(self) -> float | None:
        """Of the estimate of T, relative to what was measured; None without transfers."""
        return self.estimated_t_s / self.t_s - 1 if self.estimated_t_s and self.t_s else None


def ran(
    model: Path,
    samples: Path,
    boards: tuple[str, ...],
    settings: CostSettings,
    search: Search = Search(),
    count: int = SAMPLES_ON_BOARDS,
) -> Ran:
    """Run the first `count` samples of a network on boards; a reason takes the place of figures where that fails."""
    row = Ran(model.stem, boards, settings.bits)
    with tempfile.TemporaryDirectory() as folder:
        request = RunRequest(
            model=model,
            boards=boards,
            samples=samples,
            out=Path(folder) / "out",
            settings=settings,
            search=search,
            measuring=MeasureSettings(sample_count=count),
        )
        try:
            report = run(request, QUIET)
            report.check()
        except TinysplitError as error:
            return replace(row, result=str(error), is_refused=not request.out.exists())
    sizes = [built.sizes for built in report.build.boards]
    found, project = report.measurement.measurement, report.measurement.project
    return replace(
        row,
        cycles=round(found.i_s.mean * load_board(boards[0]).clock.core_hz),
        flash_bytes=max(each.flash.used_bytes for each in sizes),
        ram_bytes=max(each.ram_bytes for each in sizes),
        sent_bytes=sum(cut.payload_bytes for cut in project.cuts),
        estimated_t_s=sum(cut.estimated_s for cut in project.cuts),
        t_s=found.t_s.mean,
    )
