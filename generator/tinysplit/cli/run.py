"""`tinysplit generate` and `measure`: from a split to measurements; `run` does all of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from tinysplit.boards.board import ClockSource
from tinysplit.cli.basic_options import Explain, Folder, Force, Json, Model, emit, messages, wrote
from tinysplit.cli.measure_options import MeasureOptions
from tinysplit.cli.option import option
from tinysplit.cli.options import (
    CalibrationCount,
    Clock,
    ClockOfSplit,
    CodeMemoryChoice,
    CodeMemoryOfSplit,
    CodeMemoryOption,
    CostTableFile,
    Diagnostics,
    FrameRateOfPrograms,
    HostBaud,
    HostOptions,
    KernelOption,
    LateInputsOption,
    LowPowerOption,
    Markers,
    ObjectiveOption,
    Out,
    PrecisionOptions,
    ProgrammerOption,
    SamplesOptions,
    SignOption,
    SplitPath,
    StandaloneOption,
    StructureOf,
    WeightsOption,
    parse_kernels,
)
from tinysplit.cli.search_options import Assign, ChoiceOptions, SplitOptions, flattened
from tinysplit.common.choices import DEFAULT_CALIBRATION_COUNT, LateInputs, LowPower, ProgrammerName, WeightsIn
from tinysplit.common.errors import UsageError
from tinysplit.common.output_file import write_whole_file
from tinysplit.common.project_files import MEASUREMENT_NAME, TABLES_NAME
from tinysplit.common.texts.console import WITHOUT_END, PlainConsole
from tinysplit.costs.settings import CostSettings
from tinysplit.settings.fixed_point import BITS
from tinysplit.settings.samples import CALIBRATION_SAMPLES
from tinysplit.split.problem import Objective

if TYPE_CHECKING:
    from tinysplit.codegen.mlperf import Mlperf
    from tinysplit.codegen.program_options import ProgramOptions
    from tinysplit.project.split_file import SplitFile
    from tinysplit.quantize.mixed_precision.bit_allocation import Goal
    from tinysplit_hil.results.run_report import RunReport

_WHERE_TABLES = f": all tables are in {TABLES_NAME}, `tinysplit report` draws them"
CalibrationSamplesOfRun = Annotated[Path | None, option(CALIBRATION_SAMPLES)]


@dataclass(frozen=True, kw_only=True)
class ProgramChoice:
    """Options of the generated programs."""

    kernel: KernelOption = None
    code_memory: CodeMemoryOption = CodeMemoryChoice.AUTO
    markers: Markers = False
    weights: WeightsOption = WeightsIn.ARRAYS
    sign: SignOption = False

    @property
    def options(self) -> "ProgramOptions":
        """The options of `tinysplit.run`."""
        from tinysplit.codegen.program_options import ProgramOptions, ProgramSettings

        return ProgramOptions.of(ProgramSettings(weights=self.weights, sign=self.sign, has_markers=self.markers))


@dataclass(frozen=True, kw_only=True)
class ProgramsOfSplit:
    """Options of the generated programs, beside those that the split file has."""

    kernel: KernelOption = None
    code_memory: CodeMemoryOfSplit = None
    clock: ClockOfSplit = None
    markers: Markers = False
    diagnostics: Diagnostics = True
    weights: WeightsOption = WeightsIn.ARRAYS
    sign: SignOption = False
    structure_of: StructureOf = None
    standalone: StandaloneOption = False
    frame_rate: FrameRateOfPrograms = None
    late_inputs: LateInputsOption = LateInputs.NEWEST
    low_power: LowPowerOption = LowPower.SLEEP

    def options(self, mlperf: "Mlperf | None") -> "ProgramOptions":
        """Return the options of `pipeline.generate_folder`. Raises the errors of `ProgramOptions.of`."""
        from tinysplit.codegen.program_options import ProgramOptions, ProgramSettings

        settings = ProgramSettings(
            weights=self.weights,
            sign=self.sign,
            structure_of=self.structure_of,
            has_markers=self.markers,
            has_diagnostics=self.diagnostics,
            is_standalone=self.standalone,
            frame_rate=self.frame_rate,
            late_inputs=self.late_inputs,
            low_power=self.low_power,
        )
        return ProgramOptions.of(settings, mlperf)


@flattened
def generate(
    model: Model,
    split_file: SplitPath,
    given: SamplesOptions,
    out: Out,
    precision: PrecisionOptions,
    host: HostOptions,
    chosen: ProgramsOfSplit,
    assign: Assign = None,
    calibration_count: CalibrationCount = DEFAULT_CALIBRATION_COUNT,
    explain: Explain = False,
    force: Force = False,
    cost_table: CostTableFile = None,
    as_json: Json = False,
) -> None:
    """Quantize the network and write one PlatformIO project per board."""
    from tinysplit import pipeline
    from tinysplit.context import Context
    from tinysplit.project.printing import explain_project, print_project
    from tinysplit.project.split_file import read_split

    goal = None if isinstance(precision.chosen, int) else precision.chosen
    split = _with_options(read_split(split_file), chosen.clock, chosen.code_memory)
    _check_split_bits(split_file, split, precision.chosen)
    mlperf = host.mlperf(len(split.copies), split.input_source)
    # The split may be that of the published cost model; what is generated is the quantized network.
    settings = replace(split.settings, cost_model=None, kernels=parse_kernels(chosen.kernel))
    settings = replace(settings, host_baud=host.baud, returns_output=mlperf is not None)
    context = Context.load(model, split.board_names, settings, messages, split.clock, cost_table=cost_table)
    context = replace(context, programs=chosen.options(mlperf), max_time_increase=precision.max_time_increase)
    if context.programs.structure:
        split = context.programs.structure.split_for(split, context.graph)
    split = pipeline.reassign(context, split, assign, title=str(split_file))
    project = pipeline.generate_folder(
        context, split, given.file, out, calibration_count=calibration_count, goal=goal, force=force
    )

    def show(console: Console) -> None:
        print_project(project, console)
        if explain:
            explain_project(project, console)

    emit(as_json, project.model_dump(mode="json"), show)
    wrote(out)


def _with_options(split: "SplitFile", clock: ClockSource | None, code_memory: CodeMemoryChoice | None) -> "SplitFile":
    """Return the split with the options that `generate` was given in place of those of `split`."""
    if clock:
        split = split.model_copy(update={"clock": clock})
    if code_memory:
        split = split.model_copy(update={"code_memory": code_memory.requested})
    return split


def _check_split_bits(path: Path, split: "SplitFile", bits: "int | Goal") -> None:
    """Raise UsageError when the split was made for other bits than those to be generated; with a goal any will do."""
    if not isinstance(bits, int):
        return
    if split.widths:
        raise UsageError(f"{path} was made with {BITS('auto')}: use {BITS('auto')}, or split again with {BITS} {bits}")
    if split.bits != bits:
        raise UsageError(
            f"{path} was made for {split.bits} bits, not {bits}: use {BITS} {split.bits}, or split again with"
            f" {BITS} {bits}"
        )


@flattened
def measure(folder: Folder, given: SamplesOptions, measuring: MeasureOptions, as_json: Json = False) -> None:
    """Run samples on the boards: compare every output with the reference, and measured with estimated times."""
    from tinysplit.project.manifest import Project
    from tinysplit_hil.measure.measure_folder import measure_folder
    from tinysplit_hil.measure.summary import print_summary
    from tinysplit_hil.measure.tables import print_measurement
    from tinysplit_hil.results.files import write_measurement

    files = measuring.files
    project = Project.read(folder)
    report = measure_folder(project, folder, given.file, measuring.settings, messages)
    files.write(report)
    emit(as_json, report.to_json(), lambda console: print_summary(report, None, console))
    write_measurement(folder / MEASUREMENT_NAME, report)
    _write_tables(folder / TABLES_NAME, lambda console: print_measurement(report, console))
    wrote(*files.paths, folder / MEASUREMENT_NAME, folder / TABLES_NAME, what=_WHERE_TABLES)
    report.check()


@flattened
def run(
    model: Model,
    options: SplitOptions,
    choice: ChoiceOptions,
    given: SamplesOptions,
    out: Out,
    measuring: MeasureOptions,
    precision: PrecisionOptions,
    programs: ProgramChoice,
    calibration_samples: CalibrationSamplesOfRun = None,
    objective: ObjectiveOption = Objective.LATENCY,
    clock: Clock = ClockSource.HSI,
    host_baud: HostBaud = None,
    calibration_count: CalibrationCount = DEFAULT_CALIBRATION_COUNT,
    programmer: ProgrammerOption = ProgrammerName.OPENOCD,
    as_json: Json = False,
) -> None:
    """Split, generate, build, flash real boards, and measure."""
    from tinysplit.run import RunRequest
    from tinysplit.run import run as run_all
    from tinysplit_hil.results.files import write_measurement

    files = measuring.files
    chosen = precision.chosen
    goal = None if isinstance(chosen, int) else chosen
    cost_bits = chosen if isinstance(chosen, int) else CostSettings.bits
    kernels, code_memory = parse_kernels(programs.kernel), programs.code_memory.requested
    costs = replace(options.settings(clock), kernels=kernels, code_memory=code_memory)
    request = RunRequest(
        model=model,
        boards=tuple(options.board),
        samples=given.file,
        out=out,
        settings=replace(costs, bits=cost_bits, objective=objective, host_baud=host_baud),
        search=choice.search(options, one_pipeline=False),
        clock=clock,
        cost_table=options.cost_table,
        calibration=given.like(calibration_samples) if calibration_samples else None,
        calibration_count=calibration_count,
        measuring=measuring.settings,
        programmer=programmer,
        goal=goal,
        programs=programs.options,
        max_time_increase=precision.max_time_increase,
        force=measuring.force,
    )
    report = run_all(request, messages)
    files.write(report.measurement)
    emit(as_json, report.to_json(), lambda console: _print_answer(report, console))
    write_measurement(out / MEASUREMENT_NAME, report.measurement)
    _write_tables(out / TABLES_NAME, lambda console: _print_run(report, console))
    wrote(*files.paths, out / MEASUREMENT_NAME, out / TABLES_NAME, what=_WHERE_TABLES)
    report.check()


def _print_answer(report: "RunReport", console: Console) -> None:
    """Print one screen: where the layers are, and what was measured."""
    from tinysplit.project.printing import print_decryption
    from tinysplit.split.explain.reasons import placement_text
    from tinysplit_hil.measure.summary import print_summary

    for line in report.mixed_precision.lines() if report.mixed_precision else ():
        console.print(line, highlight=False, soft_wrap=True)
    console.print(placement_text(report.split.placement), highlight=False)
    print_decryption(report.measurement.project, console)
    print_summary(report.measurement, report.build, console)


def _write_tables(path: Path, show: Callable[[Console], None]) -> None:
    """Write all tables of a measurement as a text file, with lines of any length."""
    text = StringIO()
    show(PlainConsole(file=text, width=WITHOUT_END))
    write_whole_file(path, text.getvalue())


def _print_run(report: "RunReport", console: Console) -> None:
    """Print the tables of all stages; the last one has L, T and I."""
    from tinysplit.build.report import print_build
    from tinysplit.project.printing import explain_project, print_project
    from tinysplit.split.report.split import print_details
    from tinysplit_hil.bench.flash_report import print_flash
    from tinysplit_hil.measure.tables import print_measurement

    project = report.measurement.project
    print_details(report.split, console)
    print_project(project, console)
    explain_project(project, console)
    console.print()
    print_build(report.build, console)
    console.print()
    if report.flash:
        print_flash(report.flash, console)
        console.print()
    print_measurement(report.measurement, console)
