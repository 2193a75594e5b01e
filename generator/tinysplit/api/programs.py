"""Programs of the boards: generated as C, as `tinysplit generate` does, and built, as `tinysplit build` does."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import FiniteFloat
from typing_extensions import override

from tinysplit import pipeline
from tinysplit.api.arguments import for_scripts, takes, takes_settings
from tinysplit.api.given import GivenFile, GivenModel, GivenPath, GivenSamples
from tinysplit.api.result import Result
from tinysplit.api.splitting import SplitResult
from tinysplit.boards.board_files import use_folder_beside
from tinysplit.build.folder import read_and_build
from tinysplit.build.report import BuildReport
from tinysplit.codegen.program_options import ProgramOptions, ProgramSettings
from tinysplit.common.choices import DEFAULT_CALIBRATION_COUNT, USUAL_MAX_TIME_INCREASE
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.file_schema import in_range
from tinysplit.common.progress import Listener, console_of
from tinysplit.context import Context
from tinysplit.costs.settings import HostBaud
from tinysplit.network.graph import Graph
from tinysplit.network.sample_files import sample_source
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import SplitFile, read_split
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.settings.fixed_point import MAX_TIME_INCREASE
from tinysplit.settings.samples import CALIBRATION_COUNT

GivenSplit = Annotated[
    SplitResult | str | Path, takes("what split returns, or the path of a split file", SplitResult, str, Path)
]


@dataclass(frozen=True)
class BoardProgram:
    """The program of a board: bytes of flash and of static RAM, with the reserve of the stack, and of the weights.

    Those of a program that is not built yet are predicted.
    """

    number: int
    name: str
    folder: Path  # its PlatformIO project
    flash_bytes: int | None
    ram_bytes: int | None
    weights_bytes: int


@dataclass(frozen=True)
class GenerateResult(Result):
    """A generated folder, with latency and period in seconds and joules an inference, as those of the split."""

    folder: Path
    latency_s: float
    period_s: float
    energy_j: float | None  # None where currents are not known
    boards: tuple[BoardProgram, ...]
    project: Project = field(repr=False)  # the manifest

    @classmethod
    def of(cls, project: Project, folder: Path) -> Self:
        """Return a generated folder as scripts get it."""
        boards = (
            BoardProgram(
                number=board.number,
                name=board.name,
                folder=folder / board.directory,
                flash_bytes=board.predicted_flash_bytes,
                ram_bytes=board.predicted_ram_bytes,
                weights_bytes=board.weights_bytes,
            )
            for board in project.boards
        )
        figures = project.figures
        if figures is None:
            raise ValueError("a wiring test has no figures")
        return cls(folder, figures.I, figures.period_s, figures.energy_j, tuple(boards), project)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return the manifest, which `tinysplit generate --json` prints."""
        return self.project.model_dump(mode="json")

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each board."""
        return [_row(board) for board in self.boards]


@dataclass(frozen=True)
class BuildResult(Result):
    """The built programs; `problem` says why they cannot be used, "" where they can."""

    boards: tuple[BoardProgram, ...]
    problem: str
    report: BuildReport = field(repr=False)

    @classmethod
    def of(cls, report: BuildReport, folder: Path) -> Self:
        """Return the built programs as scripts get them."""
        boards = (
            BoardProgram(
                number=built.board.number,
                name=built.board.name,
                folder=folder / built.board.directory,
                flash_bytes=built.sizes.flash.used_bytes,
                ram_bytes=built.sizes.ram_bytes,
                weights_bytes=built.sizes.weights_bytes,
            )
            for built in report.boards
        )
        return cls(tuple(boards), _problem(report), report)

    @for_scripts
    def check(self) -> None:
        """Raise CheckFailedError for a memory over budget, or a program that differs from its plan."""
        self.report.check()

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit build --json` prints."""
        return self.report.to_json()

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each board."""
        return [_row(board) for board in self.boards]


@for_scripts
def generate(
    model: GivenFile,
    split: GivenSplit,
    calibration: GivenSamples,
    out: GivenPath,
    *,
    calibration_count: Annotated[int, in_range(CALIBRATION_COUNT)] = DEFAULT_CALIBRATION_COUNT,
    goal: Annotated[Goal, takes_settings(Goal)] | None = None,
    max_time_increase: Annotated[FiniteFloat, in_range(MAX_TIME_INCREASE)] = USUAL_MAX_TIME_INCREASE,
    host_baud: HostBaud | None = None,
    cost_table: GivenPath | None = None,
    programs: Annotated[ProgramSettings, takes_settings(ProgramSettings)] = ProgramSettings(),
    force: bool = False,
    progress: Listener | None = None,
) -> GenerateResult:
    """Quantize a network and write the C project of each board into the folder `out`, as `tinysplit generate` does.

    `split` is a result of `split`, or a split file; `calibration` a file of samples, or an array: N x the shape of the
    network's input, of several inputs a dict of such arrays by their names. The first `calibration_count` samples are
    used; `cost_table` is a file of `tinysplit calibrate`.
    A `goal` gives mixed precision that reaches it, whatever the bits of the split; free scales may increase the
    predicted cycles by `max_time_increase` percent. Keys are those of the environment.

    Raises InputError for a split of another network or other boards, samples that do not match, keys that are missing,
    and a folder that was changed or is no generated one (`force` deletes changes); UsageError for wrong `programs`, and
    a goal that is missing (mixed precision) or impossible; CheckFailedError where the network
    does not fit; ToolError while another command uses `out`.
    """
    file, title = split_file_of(split, model)
    if file.widths and goal is None:
        raise UsageError("the split is one in mixed precision: give a goal, as in goal=Goal()")
    settings = replace(file.settings, cost_model=None, host_baud=host_baud)
    context = Context.load(
        Path(model), file.board_names, settings, console_of(progress), file.clock, cost_table=cost_table
    )
    context = replace(context, programs=ProgramOptions.of(programs), max_time_increase=max_time_increase)
    if structure := context.programs.structure:
        file = structure.split_for(file, context.graph)
    samples = sample_source(calibration)
    reassigned = pipeline.reassign(context, file, title=title)
    project = pipeline.generate_folder(
        context, reassigned, samples, Path(out), calibration_count=calibration_count, goal=goal, force=force
    )
    return GenerateResult.of(project, Path(out))


@for_scripts
def build(folder: GivenPath, *, progress: Listener | None = None) -> BuildResult:
    """Build the programs of a generated folder, as `tinysplit build` does; `BuildResult.check` compares with the plan.

    Raises InputError for another folder, ToolError where the compiler fails or is missing, and while another command
    uses the folder.
    """
    report = read_and_build(Path(folder), console_of(progress))
    return BuildResult.of(report, Path(folder))


def split_file_of(split: GivenSplit, model: GivenModel) -> tuple[SplitFile, str]:
    """Return a split of `model`, beside which its boards may lie, and what messages call it. Raises InputError."""
    if not isinstance(model, Graph):
        use_folder_beside(Path(model).parent)
    if isinstance(split, SplitResult):
        return split.file, "the split"
    return read_split(Path(split)), str(split)


def _problem(report: BuildReport) -> str:
    try:
        report.check()
    except CheckFailedError as error:
        return str(error)
    return ""


def _row(board: BoardProgram) -> dict[str, Any]:
    return {**asdict(board), "folder": str(board.folder)}
