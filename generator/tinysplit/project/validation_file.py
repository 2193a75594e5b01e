"""The validation of a generated folder: its integers against the float network. JSON; layers and channels from 1."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Literal, Self

from pydantic import Field
from rich.console import Console

from tinysplit import __version__
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import Count, Figure, FileModel, Number, read_json, validate
from tinysplit.common.output_file import write_whole_file
from tinysplit.common.project_files import VALIDATION_NAME
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import PERCENT
from tinysplit.project.manifest import Project
from tinysplit.quantize.accuracy import Accuracy, before_what
from tinysplit.quantize.validation import LayerError, loses_most

_REMEDY = "validate again with `tinysplit validate`"


class FileLayerError(FileModel):
    """See `LayerError`; without noise a ratio is None, and `is_exact` or `own_is_exact` true."""

    number: Number
    name: str
    kind: str
    is_exact: bool
    own_is_exact: bool = False
    sqnr_db: Figure | None
    own_sqnr_db: Figure | None
    worst_channel: Number | None
    worst_channel_sqnr_db: Figure | None

    @classmethod
    def of(cls, error: LayerError) -> Self:
        """Return an error as the file has it."""
        ratios = ("sqnr_db", "own_sqnr_db", "worst_channel_sqnr_db")
        values = {name: None if (db := getattr(error, name)) is None or not isfinite(db) else db for name in ratios}
        is_exact, own_is_exact = (db is not None and not isfinite(db) for db in (error.sqnr_db, error.own_sqnr_db))
        return cls(**asdict(error) | values, is_exact=is_exact, own_is_exact=own_is_exact)

    @property
    def adds_nothing(self) -> bool:
        """Whether the layer itself adds no noise."""
        return self.is_exact or self.own_is_exact


class FileOutputAccuracy(FileModel):
    """See `OutputAccuracy`; `sqnr_db` is None without noise."""

    sqnr_db: Figure | None
    agreement: Figure | None
    top1: Figure | None
    float_top1: Figure | None
    before: str = ""


class FileAccuracy(FileOutputAccuracy):
    """See `Accuracy`."""

    samples: Count
    outputs: Mapping[str, FileOutputAccuracy] = Field(default_factory=dict)


class Validation(FileModel):
    """The whole file. `loses_most` is the number of the layer that adds most noise, None where none adds any."""

    schema_version: Literal[1] = 1
    tinysplit_version: str
    parameters_sha256: str
    samples: Count  # of the comparison layer by layer, the first ones
    accuracy: FileAccuracy
    layers: tuple[FileLayerError, ...]
    loses_most: Number | None

    @classmethod
    def of(cls, project: Project, samples: int, accuracy: Accuracy, errors: Sequence[LayerError]) -> Self:
        """Return the file of these errors on the first `samples`."""
        most = loses_most(errors)
        return cls(
            tinysplit_version=__version__,
            parameters_sha256=project.model.parameters_sha256,
            samples=samples,
            accuracy=FileAccuracy.model_validate(accuracy.to_json()),
            layers=tuple(map(FileLayerError.of, errors)),
            loses_most=most.number if most else None,
        )

    def write(self, folder: Path) -> None:
        """Write the file into a generated folder. Raises InputError where it cannot be written."""
        write_whole_file(folder / VALIDATION_NAME, self.model_dump_json(indent=2) + "\n")


def read_validation(folder: Path, project: Project) -> Validation | None:
    """Return the validation of a generated folder, None without one.

    Raises InputError where it cannot be read, or is that of other parameters.
    """
    path = folder / VALIDATION_NAME
    if not path.is_file():
        return None
    validation = validate(path, read_json(path, _REMEDY), Validation, _REMEDY)
    if validation.parameters_sha256 != project.model.parameters_sha256:
        raise InputError(f"{path} is of other parameters than {folder}: {_REMEDY}")
    return validation


def print_validation(validation: Validation, console: Console) -> None:
    """Print a row for each layer, which one adds most noise, and the accuracy."""
    table = plain_table("\n#", "\nlayer", "\nkind", numbers=("SQNR\ndB", "own\ndB", "worst\nchannel", "its\ndB"))
    for layer in validation.layers:
        own_sqnr = "exact" if layer.adds_nothing else _text(layer.own_sqnr_db)
        sqnr = "exact" if layer.is_exact else _text(layer.sqnr_db)
        channel = "-" if layer.worst_channel is None else str(layer.worst_channel)
        cells = (sqnr, own_sqnr, channel, _text(layer.worst_channel_sqnr_db))
        table.add_row(str(layer.number), layer.name, layer.kind, *cells)
    console.print(table)
    for line in validation_lines(validation):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def validation_lines(validation: Validation) -> list[str]:
    """Return which layer adds most noise, and the accuracy, in a line each."""
    layer = next((each for each in validation.layers if each.number == validation.loses_most), None)
    accuracy = validation.accuracy
    lines = [f"SQNR over {counted(validation.samples, 'sample')}, float32 of ONNX Runtime against the integers"]
    if layer:
        lines.append(f"layer {layer.number} {layer.name} adds most noise: {_text(layer.own_sqnr_db)} dB of its own")
    samples, several = counted(accuracy.samples, "sample"), len(accuracy.outputs) > 1
    outputs = accuracy.outputs or {"": accuracy}
    lines += [f"{samples}{f', output {name}' if several else ''}: {_shown(each)}" for name, each in outputs.items()]
    return lines


def _shown(accuracy: FileOutputAccuracy) -> str:
    scores = "without noise" if accuracy.sqnr_db is None else f"{accuracy.sqnr_db:.1f} dB"
    shown = f"SQNR{before_what(accuracy.before)} {scores}"
    if accuracy.agreement is not None:
        shown += f", agreement with float {PERCENT * accuracy.agreement:.2f} %"
    if accuracy.top1 is not None:
        shown += f", top-1 {accuracy.top1:.4f}, float {accuracy.float_top1:.4f}"
    return shown


def _text(db: float | None) -> str:
    return "-" if db is None else f"{db:.1f}"
