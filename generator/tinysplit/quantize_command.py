"""`tinysplit quantize`: the formats of every layer, without generating anything."""

import json
from typing import Annotated

import typer
from rich.console import Console

from tinysplit import pipeline
from tinysplit.errors import UsageError
from tinysplit.onnx_import import import_model
from tinysplit.options import Json, Model, SamplesFile
from tinysplit.quantize_report import print_quantization
from tinysplit.samples import load_samples

AUTO = "auto"
WIDTHS = {"8": 8, "16": 16}


def quantize(
    model: Model,
    samples: SamplesFile,
    bits: Annotated[str, typer.Option(help="Bits of weights and values: 8, 16, or auto for each its own.")] = "8",
    calibration_count: Annotated[
        int, typer.Option("--calibration-count", help="The formats are chosen on so many first samples.", min=1)
    ] = 100,
    board: Annotated[str, typer.Option("--board", "-b", help="auto: the board that has to be fast.")] = "nucleo_f446re",
    max_drop: Annotated[
        float, typer.Option("--max-drop", help="auto: percentage points of accuracy that may be lost.", min=0)
    ] = 0.5,
    min_snr: Annotated[
        float, typer.Option("--min-snr", help="auto, samples without labels: dB before the softmax that have to stay.")
    ] = 25.0,
    report: Annotated[bool, typer.Option("--report", help="Show the statistics that the formats rest on.")] = False,
    as_json: Json = False,
) -> None:
    """Show the fixed-point formats of every layer, and how good the network is in them."""
    if bits not in {*WIDTHS, AUTO}:
        raise UsageError(f"--bits {bits}: weights and values have 8 or 16 bits, or auto chooses")
    widths = pipeline.auto_limits(board, max_drop, min_snr) if bits == AUTO else WIDTHS[bits]
    graph = import_model(model)
    messages = Console(stderr=True)
    found = pipeline.quantize_model(graph, model, load_samples(samples, graph), calibration_count, widths, messages)
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=2))
    else:
        print_quantization(found, Console(), analysis=report)
