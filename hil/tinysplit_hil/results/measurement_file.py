"""The measurement file, as far as it is read again: what `measure` writes into its folder, and where it is told to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from tinysplit.boards.device_identity import DeviceIdentity
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import (
    Count,
    Figure,
    FileModel,
    Number,
    Seconds,
    matching,
    read_json,
    validate,
    wanted,
)
from tinysplit.project.activity import BoardActivity
from tinysplit.settings.result_files import SAVE
from tinysplit_hil.measure.report import SCHEMA_VERSION
from tinysplit_hil.measure.timeline.spans import SpanKind
from tinysplit_hil.measure.times import What, title_of

_REMEDY = f"measure again with `tinysplit measure {SAVE.option} FILE`"
Key = tuple[What, int, str, str]


class _Part(FileModel):
    """A part of the file; what nothing reads is left out here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FileTime(_Part):
    """A time of the measurement, see `MeasuredTime`."""

    what: What
    number: Count
    name: str
    boards: str
    median_s: Seconds
    median_low_s: Seconds
    median_high_s: Seconds
    count: Number

    @property
    def key(self) -> Key:
        """What has to be the same in two files; parts of layers are numbered otherwise than layers."""
        return self.what, self.number, self.name, self.boards

    @property
    def uncertainty(self) -> float:
        """The share of the median by which the further end of its interval differs from it; 0 of a median of 0."""
        away_s = max(self.median_high_s - self.median_s, self.median_s - self.median_low_s)
        return away_s / self.median_s if self.median_s else 0.0

    @property
    def title(self) -> str:
        """What the time is of, in words."""
        return title_of(self.what, self.number, self.name, self.boards)


class FileModelName(_Part):
    """The network."""

    name: str
    sha256: str
    parameters_sha256: str


class FileBoard(_Part):
    """A board, its part where it was read, and the compiler of its program where that was there."""

    number: Number
    name: str
    device: DeviceIdentity | None = None
    compiler: str | None = None


class FileFailure(_Part):
    """A sample without an output, from 1."""

    sample: Count
    reason: str


class FileOutputErrors(_Part):
    """See `OutputErrors`."""

    top1: Figure | None
    float_top1: Figure | None
    agreement: Figure | None
    l2r: Figure


class FileOutput(FileOutputErrors):
    """The outputs: samples, from 1 in `crc32` and from 0 in `differing`."""

    bit_exact: bool
    samples: Count
    differing: tuple[Count, ...]
    crc32: Mapping[Annotated[str, AfterValidator(matching("[0-9]{1,9}", "the number of a sample"))], str]
    reference_samples: Count
    outputs: Mapping[str, FileOutputErrors] = Field(default_factory=dict)


class FileLatency(_Part):
    """L, T and I in seconds."""

    L: Seconds
    T: Seconds
    I: Seconds  # noqa: E741 (its name)


class FileEnergyFigures(_Part):
    """Energy of an inference, None without the currents of all boards, and what the boards do with its time."""

    energy_j: Figure | None
    boards: tuple[BoardActivity, ...]


class FileEnergy(_Part):
    """Estimated and measured energy, None where there is none."""

    estimated: FileEnergyFigures | None
    measured: FileEnergyFigures | None
    measured_note: str | None


class FileSpan(_Part):
    """A span of a timeline, see `Span`."""

    row: str
    kind: SpanKind
    title: str
    start_s: Figure
    end_s: Figure
    label: str = ""


class FileTimeline(_Part):
    """The spans of a recorded inference."""

    uncertainty_s: Mapping[str, Figure]
    estimated: tuple[FileSpan, ...]
    measured: tuple[FileSpan, ...]


class FileLayer(_Part):
    """The time of a layer, and its mean cycles."""

    number: Count
    board: Count
    cycles: Figure
    estimated_s: Seconds
    measured_s: Seconds


class FileCut(_Part):
    """The time of a cut."""

    number: Count
    measured_s: Seconds


def _has_i(times: tuple[FileTime, ...]) -> bool:
    return any(time.what is What.I for time in times)


class MeasurementFile(_Part):
    """A measurement."""

    schema_version: Count
    tinysplit_version: str
    model: FileModelName
    bits: Count
    baud: Count
    project_hash: Count
    rig: str
    rig_note: str
    memory: str
    timing: str = ""
    boards: tuple[FileBoard, ...]
    failures: tuple[FileFailure, ...]
    times: Annotated[tuple[FileTime, ...], Field(min_length=1), AfterValidator(wanted("a list with I", _has_i))]
    output: FileOutput
    latency: Mapping[str, FileLatency]
    measured_period_s: Figure | None
    energy: Mapping[str, FileEnergy] = Field(default_factory=dict)
    timeline: FileTimeline | None = None
    layers: tuple[FileLayer, ...]
    cuts: tuple[FileCut, ...]

    @property
    def board_names(self) -> str:
        """The boards, in their order."""
        return ", ".join(board.name for board in self.boards)


def read_measurement(path: Path) -> MeasurementFile:
    """Read a measurement file. Raises InputError when it is not one, or one of another version."""
    data = read_json(path, _REMEDY)
    if not isinstance(data, dict) or "rig_note" not in data:
        raise InputError(f"{path} is no measurement: {_REMEDY}")
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(f"{path} has version {version} of the measurement file, not {SCHEMA_VERSION}: {_REMEDY}")
    return validate(path, data, MeasurementFile, _REMEDY)
