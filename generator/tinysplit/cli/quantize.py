"""`tinysplit quantize`: the fixed-point formats of every layer, and the accuracy of the quantized network."""

from typing import Annotated

import typer

from tinysplit.boards.catalog import load_all
from tinysplit.cli.basic_options import Json, Model, emit, messages
from tinysplit.cli.options import CalibrationCount, PrecisionOptions, SamplesFile
from tinysplit.cli.search_options import flattened
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.pipeline import DEFAULT_CALIBRATION_COUNT
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.quantize.report import measure_accuracy, print_quantization


@flattened
def quantize(
    model: Model,
    samples: SamplesFile,
    precision: PrecisionOptions,
    calibration_count: CalibrationCount = DEFAULT_CALIBRATION_COUNT,
    board: Annotated[
        str, typer.Option("--board", "-b", help="Mixed precision: board whose latency and memories count.")
    ] = "nucleo_f446re",
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="Print the statistics of weights and values; --json always has them."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the fixed-point format of every layer and the accuracy of the quantized network."""
    chosen = precision.chosen
    widths = Limits(chosen, tuple(load_all([board]))) if isinstance(chosen, Goal) else chosen
    graph = import_model(model)
    all_samples = load_samples(samples, graph)
    quantization = quantize_model(graph, model, all_samples.first(calibration_count), widths, messages)
    found = measure_accuracy(quantization, all_samples, messages)
    emit(as_json, found.to_json(), lambda console: print_quantization(found, console, analysis=statistics))
