"""The measurement file, as far as it is compared: what `measure --save` writes and `--json` prints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field

from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import FileModel, read_json, validate
from tinysplit_hil.report import SCHEMA_VERSION
from tinysplit_hil.results.times import What, title_of

_REMEDY = "measure again with `tinysplit measure --save FILE`"
Key = tuple[What, int, str]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(FileModel):
    """A part of the file; what is not compared is left out here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FileTime(_Part):
    """A time of the measurement, see `MeasuredTime`."""

    what: What
    number: int
    name: str
    boards: str
    median_s: Seconds
    median_low_s: Seconds
    median_high_s: Seconds
    count: Annotated[int, Field(ge=1)]

    @property
    def key(self) -> Key:
        """What has to be the same in two files."""
        return self.what, self.number, self.boards

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
    """A board."""

    name: str


class FileFailure(_Part):
    """A sample without an output, from 1."""

    sample: int
    reason: str


class FileOutput(_Part):
    """The outputs: samples, from 1 in `crc32` and from 0 in `differing`."""

    differing: tuple[int, ...]
    crc32: Mapping[str, str]
    top1: float | None


class MeasurementFile(_Part):
    """A measurement."""

    schema_version: int
    tinysplit_version: str
    model: FileModelName
    bits: int
    baud: int
    project_hash: int
    rig: str
    memory: str
    boards: tuple[FileBoard, ...]
    failures: tuple[FileFailure, ...]
    times: Annotated[tuple[FileTime, ...], Field(min_length=1)]
    output: FileOutput

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
