"""What networks are: their layers, as `tinysplit analyze` shows them, and their accuracy in fixed point."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from typing_extensions import override

from tinysplit.api.arguments import for_scripts, takes_settings
from tinysplit.api.given import (
    GivenBoard,
    GivenFile,
    GivenLabels,
    GivenModel,
    GivenPath,
    GivenSamples,
    boards_of,
    graph_of,
)
from tinysplit.api.result import Result
from tinysplit.calibration.conditions import table_for
from tinysplit.common.choices import DEFAULT_CALIBRATION_COUNT, USUAL_MAX_TIME_INCREASE
from tinysplit.common.file_schema import in_range
from tinysplit.common.progress import Listener, console_of
from tinysplit.costs.settings import Bits, CostSettings
from tinysplit.network.analyze import Analysis
from tinysplit.network.analyze import analyze as analyze_graph
from tinysplit.network.sample_files import sample_source
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import.reading import read_network
from tinysplit.project.validation import DEFAULT_LAYER_SAMPLES, validate_folder
from tinysplit.project.validation_file import FileAccuracy, Validation
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.quantize.report import QuantizeReport, measure_accuracy
from tinysplit.quantize.sample_warnings import print_reused_samples
from tinysplit.quantize.scale_search import USUAL_BOARD, TimeLimit
from tinysplit.settings.measurement import SAMPLE_COUNT
from tinysplit.settings.samples import CALIBRATION_COUNT


@dataclass(frozen=True)
class AnalyzeResult(Result):
    """A network before anything is done to it; bytes are those in fixed point, of activations the peak."""

    name: str
    n_layers: int
    macc: int
    n_parameters: int
    weights_bytes: int
    activations_bytes: int
    analysis: Analysis = field(repr=False)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit analyze --json` prints."""
        data: dict[str, Any] = json.loads(json.dumps(self.analysis.to_json()))
        return data

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each layer."""
        shapes = [{"in_shape": str(each.in_shape), "out_shape": str(each.out_shape)} for each in self.analysis.layers]
        return [{**asdict(each), **own} for each, own in zip(self.analysis.layers, shapes, strict=True)]


@for_scripts
def analyze(model: GivenModel, *, bits: Bits = CostSettings.bits) -> AnalyzeResult:
    """Return the layers of a network, as `tinysplit analyze` shows them; weights need not be trained.

    Raises InputError for a network that cannot be imported.
    """
    found = analyze_graph(graph_of(model, console_of(None)), bits)
    totals = found.quantized
    sizes = (totals.macc, totals.params, totals.weights_bytes, totals.activations_bytes)
    return AnalyzeResult(found.name, totals.depth, *sizes, found)


@dataclass(frozen=True)
class QuantizeResult(Result):
    """A network in fixed point against the float one, on all samples; of several outputs, figures of the worst.

    `top1` and `float_top1` are None without labels, `agreement` (the share of samples of which both predict the same
    class) without classes. `warnings` say what costs accuracy.
    """

    sqnr_db: float
    agreement: float | None
    top1: float | None
    float_top1: float | None
    warnings: tuple[str, ...]
    report: QuantizeReport = field(repr=False)

    @classmethod
    def of(cls, report: QuantizeReport) -> Self:
        """Return a report as scripts get it."""
        found = report.accuracy
        figures = (found.sqnr_db, found.agreement, found.top1, found.float_top1)
        return cls(*figures, tuple(report.warnings), report)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit quantize --json` prints."""
        data: dict[str, Any] = json.loads(json.dumps(self.report.to_json()))
        return data

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each layer, with its formats."""
        keys = ("number", "name", "kind")
        return [
            {**{key: layer[key] for key in keys}, "format": layer["formats"]["output"]["name"]}
            for layer in self.to_json()["layers"]
        ]


@for_scripts
def quantize(
    model: GivenFile,
    samples: GivenSamples,
    *,
    bits: Bits = CostSettings.bits,
    goal: Annotated[Goal, takes_settings(Goal)] | None = None,
    board: GivenBoard = USUAL_BOARD,
    labels: GivenLabels = None,
    calibration_count: Annotated[int, in_range(CALIBRATION_COUNT)] = DEFAULT_CALIBRATION_COUNT,
    progress: Listener | None = None,
) -> QuantizeResult:
    """Quantize a network, calibrated on the first samples, and compare it with the float one, as `tinysplit quantize`.

    A `goal` takes 16 bits only where it needs them, within the memories of `board`. Raises InputError for a network or
    samples that cannot be used, CheckFailedError where no bit widths reach the goal.
    """
    console = console_of(progress)
    graph = read_network(Path(model), console)
    boards = boards_of(board)
    table = table_for(boards, None)
    given = load_samples(sample_source(samples, labels), graph)
    calibration = given.first(calibration_count)
    print_reused_samples(calibration, given, "`validate` takes others", console)
    widths = bits if goal is None else Limits(table, goal, boards)
    limit = TimeLimit.on(boards, table, USUAL_MAX_TIME_INCREASE)
    quantization = quantize_model(graph, Path(model), calibration, widths, console, limit)
    return QuantizeResult.of(measure_accuracy(quantization, given, console))


@dataclass(frozen=True)
class ValidateResult(Result):
    """The integers of a generated folder against the float network; `loses_most` is the layer that adds most noise."""

    accuracy: FileAccuracy  # on all samples
    loses_most: int | None  # from 1
    validation: Validation = field(repr=False)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit validate --json` prints."""
        return self.validation.model_dump(mode="json")

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each layer."""
        return [layer.model_dump(mode="json") for layer in self.validation.layers]


@for_scripts
def validate(
    folder: GivenPath,
    samples: GivenSamples,
    *,
    labels: GivenLabels = None,
    sample_count: Annotated[int, in_range(SAMPLE_COUNT)] = DEFAULT_LAYER_SAMPLES,
    progress: Listener | None = None,
) -> ValidateResult:
    """Compare a generated folder with the float network, as `tinysplit validate` does: accuracy without boards.

    Layers are compared on the first `sample_count` samples. The folder keeps the validation for its report. Raises
    InputError for another folder and for samples that do not match.
    """
    found = validate_folder(Path(folder), sample_source(samples, labels), sample_count, console_of(progress))
    return ValidateResult(found.accuracy, found.loses_most, found)
