"""`tinysplit quantize`: the formats of every layer, without generating anything."""

from typing import Annotated

import typer
from rich.console import Console

from tinysplit.boards.catalog import load_all
from tinysplit.cli.options import (
    BitsOrAuto,
    CalibrationCount,
    Json,
    MaxDrop,
    MinSnr,
    Model,
    SamplesFile,
    bits_or_goal,
    emit,
)
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.quantize.report import measure_accuracy, print_quantization


def quantize(
    model: Model,
    samples: SamplesFile,
    bits: BitsOrAuto = "8",
    calibration_count: CalibrationCount = 100,
    board: Annotated[str, typer.Option("--board", "-b", help="auto: the board that has to be fast.")] = "nucleo_f446re",
    max_drop: MaxDrop = Goal.max_drop,
    min_snr: MinSnr = Goal.min_sqnr_db,
    report: Annotated[
        bool,
        typer.Option("--report", help="Show the statistics that the formats rest on; --json has every channel's, too."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the fixed-point formats of every layer, and how good the network is in them."""
    chosen = bits_or_goal(bits, max_drop, min_snr)
    widths = Limits(chosen, tuple(load_all([board]))) if isinstance(chosen, Goal) else chosen
    graph = import_model(model)
    messages = Console(stderr=True)
    all_samples = load_samples(samples, graph)
    quantization = quantize_model(graph, model, all_samples.first(calibration_count), widths, messages)
    found = measure_accuracy(quantization, all_samples, messages)
    emit(as_json, found.to_json(), lambda console: print_quantization(found, console, analysis=report))
