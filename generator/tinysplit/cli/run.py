"""`tinysplit generate` and `measure`: from a split to measurements; `run` does all of it."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from tinysplit import pipeline
from tinysplit.boards.board import ClockSource
from tinysplit.boards.catalog import load_all
from tinysplit.build.report import print_build
from tinysplit.calibration.conditions import using_calibration
from tinysplit.cli.basic_options import Folder, Force, Json, Model, emit, messages
from tinysplit.cli.options import (
    AUTO_BAUD,
    CalibrationCount,
    CalibrationFile,
    CalibrationSamples,
    Clock,
    ClockOfSplit,
    CodeMemoryChoice,
    CodeMemoryOfSplit,
    CodeMemoryOption,
    CsvFile,
    FailFast,
    HostBaud,
    HostBaudOfProtocol,
    HostProtocolOption,
    IdealMemory,
    JunitFile,
    KernelOption,
    Markers,
    MlperfByteScale,
    MlperfModel,
    ObjectiveOption,
    Out,
    Pipelined,
    PrecisionOptions,
    ProgrammerOption,
    Rig,
    SampleCount,
    SamplesFile,
    SaveFile,
    SplitPath,
    TimelineOption,
    TimelineSvg,
    TimelineTrace,
    Vcd,
    mlperf_of,
    parse_kernels,
)
from tinysplit.cli.search_options import Replicate, SplitOptions, copies_to_search, flattened
from tinysplit.cli.wiring import wiring_request
from tinysplit.common.errors import UsageError
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.project.report import print_project
from tinysplit.project.split_file import SplitFile, read_split
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.split.problem import Objective
from tinysplit.split.report.split import print_split
from tinysplit_hil.bench.flash_report import print_flash
from tinysplit_hil.bench.programmers import ProgrammerName
from tinysplit_hil.measure_folder import DEFAULT_SAMPLE_COUNT, MeasureSettings, measure_folder
from tinysplit_hil.results.files import ResultFiles
from tinysplit_hil.rig import VIRTUAL
from tinysplit_hil.tables import print_measurement
from tinysplit_hil.wiring import run_wiring_test

CalibrationSamplesOfRun = Annotated[
    Path | None, typer.Option(help="Calibration samples, an .npz file; by default those of --samples.")
]


@dataclass(frozen=True)
class MeasureOptions:
    """Options of `measure` and `run`."""

    rig: Rig = VIRTUAL
    sample_count: SampleCount = DEFAULT_SAMPLE_COUNT
    pipelined: Pipelined = False
    fail_fast: FailFast = False
    ideal_memory: IdealMemory = False
    vcd: Vcd = None
    save: SaveFile = None
    csv: CsvFile = None
    junit: JunitFile = None
    timeline: TimelineOption = False
    timeline_svg: TimelineSvg = None
    timeline_trace: TimelineTrace = None
    force: Force = False

    @property
    def settings(self) -> MeasureSettings:
        """The settings. Raises UsageError for real boards with ideal memory."""
        if self.ideal_memory and self.rig != VIRTUAL:
            raise UsageError(f"--ideal-memory is for virtual boards: leave it out with --rig {self.rig}")
        if self.vcd and self.rig != VIRTUAL:
            raise UsageError("--vcd is for virtual boards: a logic analyser sees the pins of real ones")
        return MeasureSettings(
            rig=self.rig,
            sample_count=self.sample_count,
            is_pipelined=self.pipelined,
            fail_fast=self.fail_fast,
            has_ideal_memory=self.ideal_memory,
            vcd=self.vcd,
            has_timeline=bool(self.timeline or self.timeline_svg or self.timeline_trace),
        )

    @property
    def files(self) -> ResultFiles:
        """The files to write. The errors are those of `ResultFiles.check`."""
        files = ResultFiles(
            json=self.save, csv=self.csv, junit=self.junit, svg=self.timeline_svg, trace=self.timeline_trace
        )
        files.check(self.vcd, force=self.force)
        return files


@flattened
def generate(
    model: Model,
    split_file: SplitPath,
    samples: CalibrationSamples,
    out: Out,
    precision: PrecisionOptions,
    kernel: KernelOption = None,
    code_memory: CodeMemoryOfSplit = None,
    clock: ClockOfSplit = None,
    host_protocol: HostProtocolOption = HostProtocol.TINYSPLIT,
    mlperf_model: MlperfModel = None,
    mlperf_byte_scale: MlperfByteScale = None,
    host_baud: HostBaudOfProtocol = None,
    markers: Markers = False,
    calibration_count: CalibrationCount = pipeline.DEFAULT_CALIBRATION_COUNT,
    force: Force = False,
    calibration: CalibrationFile = None,
    as_json: Json = False,
) -> None:
    """Quantize the network and write one PlatformIO project per board."""
    chosen = precision.chosen
    goal = chosen if isinstance(chosen, Goal) else None
    split = _with_options(read_split(split_file), clock, code_memory)
    _check_split_bits(split_file, split, chosen)
    mlperf = mlperf_of(host_protocol, mlperf_model, mlperf_byte_scale, len(split.copies))
    # The split may be that of the published cost model; what is generated is the quantized network.
    settings = replace(
        split.settings,
        paper=False,
        kernels=parse_kernels(kernel),
        host_baud=host_baud or host_protocol.usual_baud,
        returns_output=mlperf is not None,
    )
    context = pipeline.Context.load(model, split.board_names, settings, messages, split.clock)
    context = replace(context, mlperf=mlperf, has_markers=markers)
    with using_calibration(calibration, context.boards):
        project = pipeline.generate_folder(
            context, split, samples, out, calibration_count=calibration_count, goal=goal, force=force
        )
    emit(as_json, project.model_dump(mode="json"), lambda console: print_project(project, out, console))


def _with_options(split: SplitFile, clock: ClockSource | None, code_memory: CodeMemoryChoice | None) -> SplitFile:
    """Return the split with the options that `generate` was given in place of those of `split`."""
    if clock:
        split = split.model_copy(update={"clock": clock})
    if code_memory:
        split = split.model_copy(update={"code_memory": code_memory.requested})
    return split


def _check_split_bits(path: Path, split: SplitFile, bits: int | Goal) -> None:
    """Raise UsageError when the split was made for other bits than those to be generated; with a goal any will do."""
    if isinstance(bits, Goal):
        return
    if split.widths:
        raise UsageError(f"{path} was made with --bits auto: use --bits auto, or split again with --bits {bits}")
    if split.bits != bits:
        raise UsageError(
            f"{path} was made for {split.bits} bits, not {bits}: use --bits {split.bits}, or split again with"
            f" --bits {bits}"
        )


@flattened
def measure(
    folder: Folder,
    samples: SamplesFile,
    measuring: MeasureOptions,
    as_json: Json = False,
) -> None:
    """Run samples on the boards: compare every output with the reference, and measured with estimated times."""
    files = measuring.files
    project = Project.read(folder)
    report = measure_folder(project, folder, samples, measuring.settings, messages)
    files.write(report)
    emit(as_json, report.to_json(), lambda console: print_measurement(report, console))
    report.check()


@flattened
def run(
    model: Model,
    options: SplitOptions,
    samples: SamplesFile,
    out: Out,
    measuring: MeasureOptions,
    precision: PrecisionOptions,
    calibration_samples: CalibrationSamplesOfRun = None,
    kernel: KernelOption = None,
    code_memory: CodeMemoryOption = CodeMemoryChoice.AUTO,
    replicate: Replicate = None,
    objective: ObjectiveOption = Objective.LATENCY,
    clock: Clock = ClockSource.HSI,
    host_baud: HostBaud = CostSettings.host_baud,
    calibration_count: CalibrationCount = pipeline.DEFAULT_CALIBRATION_COUNT,
    programmer: ProgrammerOption = ProgrammerName.OPENOCD,
    markers: Markers = False,
    as_json: Json = False,
) -> None:
    """Split, generate, build, flash real boards, and measure."""
    files = measuring.files
    goal, cost_bits = _goal_and_bits(precision)
    costs = _costs(options, clock, measuring.rig, kernel, code_memory)
    request = pipeline.RunRequest(
        model=model,
        boards=tuple(options.board),
        samples=samples,
        out=out,
        settings=replace(costs, bits=cost_bits, objective=objective, host_baud=host_baud),
        search=_search(options, replicate, goal),
        clock=clock,
        calibration=calibration_samples,
        calibration_count=calibration_count,
        measuring=measuring.settings,
        programmer=programmer,
        goal=goal,
        has_markers=markers,
        force=measuring.force,
    )
    _run_and_report(request, options, files, as_json)


def _run_and_report(request: pipeline.RunRequest, options: SplitOptions, files: ResultFiles, as_json: bool) -> None:
    """Run all stages and show their results. Raises CheckFailedError unless all outputs are bit-exact."""
    with using_calibration(options.calibration, load_all(options.board)):
        report = pipeline.run(request, messages)
    files.write(report.measurement)
    emit(as_json, report.to_json(), lambda console: _print_run(report, console))
    report.check()


def _goal_and_bits(precision: PrecisionOptions) -> tuple[Goal | None, int]:
    """Return the goal of mixed precision, if any, and the bits of the costs."""
    chosen = precision.chosen
    return (chosen, CostSettings.bits) if isinstance(chosen, Goal) else (None, chosen)


def _costs(
    options: SplitOptions, clock: ClockSource, rig: str, kernel: list[str] | None, code_memory: CodeMemoryChoice
) -> CostSettings:
    """Return the settings of the costs. With --baud auto, links between virtual boards are tested first.

    Real boards have to be flashed for that, so there --wiring names the result.
    """
    tested = None
    if options.is_auto and rig == VIRTUAL:
        request = wiring_request(options.board, options.link, AUTO_BAUD, options.link_driver, clock)
        with TemporaryDirectory() as folder:
            tested = run_wiring_test(request, rig, Path(folder), messages)
    settings = options.settings(clock, tested)
    return replace(settings, kernels=parse_kernels(kernel), code_memory=code_memory.requested)


def _search(options: SplitOptions, replicate: bool | None, goal: Goal | None) -> pipeline.Search:
    """Return the search for a split, which is one pipeline in mixed precision."""
    if replicate and goal:
        raise UsageError("--bits auto chooses bit widths for one pipeline: --replicate needs --bits 8 or 16")
    return replace(options.search, copies=copies_to_search(replicate, one_pipeline=goal is not None))


def _print_run(report: pipeline.RunReport, console: Console) -> None:
    """Print the tables of all stages; the last one has L, T and I."""
    for line in report.mixed_precision.lines() if report.mixed_precision else ():
        console.print(line, highlight=False, soft_wrap=True)
    print_split(report.split, console)
    console.print()
    print_build(report.build, console)
    console.print()
    if report.flash:
        print_flash(report.flash, console)
        console.print()
    print_measurement(report.measurement, console)
