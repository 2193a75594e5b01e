"""Latency I of layers divided by rows on slow links: event graph, simulation and virtual boards beside each other.

    .venv/bin/python benchmarks/divided_simulation.py

Tiny-CNN with all layers that have rows divided equally, also where whole layers would be faster: links are as busy as
boards, so that grants and acknowledgements wait for tensors. Takes a minute.
"""

import tempfile
from pathlib import Path

import numpy as np
import onnx
from rich.console import Console

from periods import NETWORKS
from tinysplit.boards.catalog import load_all
from tinysplit.build.folder import build_folder
from tinysplit.codegen.projects import generate
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.quantized_distribution import distribute_quantized
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.plan import make_plan
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.slices.candidates import Candidate, ends_of_tiles
from tinysplit.slices.links import with_links
from tinysplit.split.evaluate.firmware import Firmware, FirmwareSimulation
from tinysplit.split.simulation.run import simulate
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder

BOARD, MODEL = "nucleo_f446re", NETWORKS["Tiny-CNN"]
CASES = tuple((n_boards, baud) for n_boards in (2, 3) for baud in (115_200, 460_800, 1_000_000))
QUIET = Console(quiet=True)
SEED, SAMPLES = 21, 2


def latencies(n_boards: int, baud: int) -> tuple[float, float, float]:
    """Return I in seconds by the event graph, simulated, and measured."""
    graph, boards = import_model(MODEL), load_all((BOARD,) * n_boards)
    n_divided = next(ends_of_tiles(graph, n_boards))
    order = tuple(range(n_boards))
    candidate = Candidate(
        SliceAxis.ROWS, n_divided, order, (1 / n_boards,) * n_boards, 0, 0, frozenset(range(n_divided))
    )
    how = candidate.distributions(graph, n_boards)
    x = np.random.default_rng(SEED).normal(size=(SAMPLES, *graph.sample_shape)).astype(np.float32)
    quantized = quantize_model(graph, MODEL, Samples(x, None), 8, QUIET).quantized
    divided = distribute(graph, how, n_boards, BitWidths.of_quantized(quantized))
    parts = distribute_quantized(quantized, divided)
    settings, widths = with_links(CostSettings(baud=baud), boards, order, 0), BitWidths.of_quantized(parts)
    problem = make_problem(divided, boards, settings, widths)
    program = Firmware.of(problem, divided.boards).program
    plan = make_plan(parts.dequantized, widths, boards, problem, divided.boards, settings.link_settings)
    with tempfile.TemporaryDirectory() as name:
        out, samples = Path(name) / "out", Path(name) / "x.npz"
        np.savez(samples, x=x)
        project = generate(parts, (plan,), (baud, settings.host_baud_on(boards)), len(x), onnx.load(MODEL), out)
        build_folder(project, out, QUIET).check()
        report = measure_folder(project, out, samples, MeasureSettings(sample_count=SAMPLES), QUIET)
    report.check()
    (simulated_s,) = simulate(problem, divided.boards, (0.0,)).inference_s
    return FirmwareSimulation(problem, program).latency_s(), simulated_s, report.measurement.i_s.mean


def main() -> None:
    """Print a row a case as it is measured, times in ms."""
    print("| boards | baud | event graph | simulated | measured |\n|---|---:|---:|---:|---:|")
    for n_boards, baud in CASES:
        cells = (str(n_boards), f"{baud:,}".replace(",", " "), *(f"{1000 * s:.2f}" for s in latencies(n_boards, baud)))
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
