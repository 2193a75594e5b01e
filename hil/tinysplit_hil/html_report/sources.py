"""What a report is made from: the files of a generated folder, as far as they are there."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tinysplit.boards.catalog import load_all
from tinysplit.boards.less_sure import less_sure_json
from tinysplit.build.elf import ElfSizes
from tinysplit.build.report import read_program
from tinysplit.common.choices import VIRTUAL
from tinysplit.common.project_files import MEASUREMENT_NAME, MODEL_NAME, SPLIT_NAME
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import SplitFile, read_split
from tinysplit.project.validation_file import Validation, read_validation
from tinysplit_hil.results.measurement_file import MeasurementFile, read_measurement


@dataclass(frozen=True)
class Sources:
    """A generated folder. `sizes` are those of the programs, by board number; empty where they are not built.

    `old_measurement`: why the measurement that lies there is left out.
    """

    folder: Path
    project: Project
    graph: Graph
    split: SplitFile | None
    measurement: MeasurementFile | None
    validation: Validation | None
    sizes: Mapping[int, ElfSizes]
    old_measurement: str = ""

    @classmethod
    def read(cls, folder: Path, measurement: Path | None = None) -> Self:
        """Read the folder, and the measurement from another file where one is named.

        Raises InputError where a file is missing that `generate` writes, or one cannot be read.
        """
        project = Project.read(folder)
        path = measurement or folder / MEASUREMENT_NAME
        measured = read_measurement(path) if measurement or path.is_file() else None
        why_not = ""
        if measured and measured.project_hash != project.project_hash:
            measured = None
            why_not = f"{path.name} is of other programs: measure again"
        split = folder / SPLIT_NAME
        return cls(
            folder=folder,
            project=project,
            graph=import_model(folder / MODEL_NAME),
            split=read_split(split) if split.is_file() else None,
            measurement=measured,
            validation=read_validation(folder, project),
            sizes=_sizes(folder, project),
            old_measurement=why_not,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what the report is made of: boards, the estimated figures, the measurement, and program sizes."""
        measured, figures = self.measurement, self.project.figures
        return {
            "model": self.project.model.name,
            "boards": [board.name for board in self.project.boards],
            **self.less_sure,
            "estimated": figures.model_dump(mode="json") if figures else None,
            "measured_on": self.measured if measured else None,
            "measurement": measured.model_dump(mode="json") if measured else None,
            "program_bytes": {
                number: {"flash": own.flash.used_bytes, "ram": own.ram_bytes} for number, own in self.sizes.items()
            },
        }

    @property
    def less_sure(self) -> dict[str, list[str]]:
        """Which boards have times that are less sure, by `less_sure_json`."""
        return less_sure_json(load_all([board.name for board in self.project.boards]))

    @property
    def measured(self) -> str:
        """What measured figures are called: they say where they come from."""
        if self.measurement is None:
            return "measured"
        return "virtual boards" if self.measurement.rig == VIRTUAL else "real boards"


def _sizes(folder: Path, project: Project) -> Mapping[int, ElfSizes]:
    sizes = {}
    for board in project.boards:
        elf = board.elf(folder)
        if elf.is_file():
            sizes[board.number] = read_program(board, elf)
    return sizes
