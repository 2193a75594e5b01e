"""`tinysplit quantize` and `validate`: formats and accuracy of a network in fixed point, as a whole and by layers."""

from typing import Annotated

import typer

from tinysplit.boards.catalog import load_all
from tinysplit.cli import completion
from tinysplit.cli.basic_options import Folder, Json, Model, emit, messages
from tinysplit.cli.option import option
from tinysplit.cli.options import CalibrationCount, PrecisionOptions, SamplesOptions
from tinysplit.cli.search_options import flattened
from tinysplit.common.choices import DEFAULT_CALIBRATION_COUNT
from tinysplit.common.progress import reading
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.project.validation import DEFAULT_LAYER_SAMPLES, validate_folder
from tinysplit.project.validation_file import print_validation
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.quantize.report import measure_accuracy, print_quantization
from tinysplit.quantize.sample_warnings import print_reused_samples
from tinysplit.quantize.scale_search import USUAL_BOARD, TimeLimit
from tinysplit.settings.measurement import SAMPLE_COUNT

LayerSamples = Annotated[int, option(SAMPLE_COUNT, "Number of samples to compare layer by layer, from the first.")]


@flattened
def quantize(
    model: Model,
    given: SamplesOptions,
    precision: PrecisionOptions,
    calibration_count: CalibrationCount = DEFAULT_CALIBRATION_COUNT,
    board: Annotated[
        str,
        typer.Option(
            "--board",
            "-b",
            help="Board whose cycles count for free scales, and whose latency and memories for mixed precision.",
            autocompletion=completion.boards,
        ),
    ] = USUAL_BOARD,
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="Print the statistics of weights and values; --json always has them."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the fixed-point format of every layer and the accuracy of the quantized network."""
    chosen, boards = precision.chosen, tuple(load_all([board]))
    with reading(messages, [model]):
        graph = import_model(model)
    samples = load_samples(given.file, graph)
    calibration = samples.first(calibration_count)
    print_reused_samples(calibration, samples, "`tinysplit validate` takes others", messages)
    limit = TimeLimit.on(boards, shipped_table(), precision.max_time_increase)
    widths = Limits(shipped_table(), chosen, boards) if isinstance(chosen, Goal) else chosen
    quantization = quantize_model(graph, model, calibration, widths, messages, limit)
    report = measure_accuracy(quantization, samples, messages)
    emit(as_json, report.to_json(), lambda console: print_quantization(report, console, analysis=statistics))


@flattened
def validate(
    folder: Folder, given: SamplesOptions, sample_count: LayerSamples = DEFAULT_LAYER_SAMPLES, as_json: Json = False
) -> None:
    """Compare the integers of every layer with the float network, which is accuracy without boards."""
    validation = validate_folder(folder, given.file, sample_count, messages)
    emit(as_json, validation.model_dump(mode="json"), lambda console: print_validation(validation, console))
