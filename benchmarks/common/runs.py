"""Runs of networks on virtual boards: split, generated, built and measured."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.networks import NETWORKS, QUIET, RANDOM_CALIBRATION_COUNT, Case
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.settings import CostSettings
from tinysplit.run import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure_folder import MeasureSettings
from tinysplit_hil.results.run_report import RunReport

SAMPLES_ON_BOARDS = 2
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
    measuring = MeasureSettings(sample_count=count, is_pipelined=True, fail_fast=True)
    return run_case(case, settings, _random_inputs(case, count), measuring)


def run_inferences(case: Case, settings: CostSettings, search: Search) -> RunReport:
    """Run a case with a few random inputs, one after the other. The errors are those of `run_case`."""
    measuring = MeasureSettings(sample_count=SAMPLES_ON_BOARDS)
    return run_case(case, settings, _random_inputs(case, RANDOM_CALIBRATION_COUNT), measuring, search)


def _random_inputs(case: Case, count: int) -> NDArray[np.float32]:
    shape = (count, *case.graph().sample_shape)
    return np.random.default_rng(SEED).random(shape, dtype=np.float32)


@dataclass(frozen=True)
class Ran:
    """A network on boards: the cycles of an inference on the first, flash and static RAM of the largest program.

    `result` is "yes" where outputs are bit-exact, else why not; `is_refused` where no program was generated.
    """

    network: str
    boards: tuple[str, ...]
    bits: int
    result: str = "yes"
    is_refused: bool = False
    cycles: int | None = None
    flash_bytes: int | None = None
    ram_bytes: int | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether a program was generated that is not bit-exact."""
        return self.cycles is None and not self.is_refused


def ran(model: Path, samples: Path, boards: tuple[str, ...], bits: int) -> Ran:
    """Run the first samples of a network on all `boards`; a reason takes the place of figures where that fails."""
    row = Ran(model.stem, boards, bits)
    with tempfile.TemporaryDirectory() as folder:
        request = RunRequest(
            model=model,
            boards=boards,
            samples=samples,
            out=Path(folder) / "out",
            settings=CostSettings(bits=bits, use_all=len(boards) > 1),
            measuring=MeasureSettings(sample_count=SAMPLES_ON_BOARDS),
        )
        try:
            report = run(request, QUIET)
            report.check()
        except TinysplitError as error:
            return replace(row, result=str(error), is_refused=not request.out.exists())
    sizes = [built.sizes for built in report.build.boards]
    return replace(
        row,
        cycles=round(report.measurement.measurement.i_s.mean * load_board(boards[0]).clock.core_hz),
        flash_bytes=max(each.flash.used_bytes for each in sizes),
        ram_bytes=max(each.ram_bytes for each in sizes),
    )
