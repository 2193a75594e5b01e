"""Runs of networks on virtual boards: split, generated, built and measured."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.networks import NETWORKS, QUIET, Case
from tinysplit.costs.settings import CostSettings
from tinysplit.run import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure_folder import MeasureSettings
from tinysplit_hil.results.run_report import RunReport

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
