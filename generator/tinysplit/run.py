"""The whole way: all stages of `pipeline.py`, then build, flash and measure, which load the tools for boards."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from tinysplit import pipeline
from tinysplit.boards.board import ClockSource
from tinysplit.build.folder import build_folder
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.common.choices import DEFAULT_CALIBRATION_COUNT, USUAL_MAX_TIME_INCREASE, ProgrammerName
from tinysplit.common.folder_lock import locked_folder
from tinysplit.common.output_folder import check_output_folder
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.sample_files import SampleSource
from tinysplit.network.samples import load_samples
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.quantize.sample_warnings import print_reused_samples
from tinysplit.settings.samples import CALIBRATION_SAMPLES
from tinysplit.slices.settings import Search
from tinysplit_hil.bench.flash import check_flashable, flash_rig
from tinysplit_hil.measure.measure_folder import MeasureSettings, check_sample_numbers, check_samples, measure_boards
from tinysplit_hil.results.run_report import RunReport


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """Arguments of `run`. Without `calibration`, the first of `samples` are used for calibration.

    With a `goal`, the widths of weights and values are chosen together with the split (mixed precision).
    """

    model: Path
    boards: tuple[str, ...]
    samples: Path | SampleSource
    out: Path
    settings: CostSettings
    search: Search = Search()
    clock: ClockSource = ClockSource.HSI
    cost_table: Path | None = None
    calibration: Path | SampleSource | None = None
    calibration_count: int = DEFAULT_CALIBRATION_COUNT
    measuring: MeasureSettings = field(default_factory=MeasureSettings)
    programmer: ProgrammerName = ProgrammerName.OPENOCD
    goal: Goal | None = None
    programs: ProgramOptions = PLAIN
    max_time_increase: float = USUAL_MAX_TIME_INCREASE  # percent, by free scales
    force: bool = False  # of check_output_folder


def run(request: RunRequest, messages: Console) -> RunReport:
    """Run all stages; the generated projects, the split file and the programs are in the folder `request.out`.

    Raises ToolError while another command generates or builds in it.
    """
    with locked_folder(request.out):
        return _run(request, messages)


def _run(request: RunRequest, messages: Console) -> RunReport:
    check_output_folder(request.out, force=request.force)
    check_flashable(request.measuring.rig, request.boards, request.programmer)
    request.measuring.virtual.check_boards(request.boards)
    how = (request.settings, messages, request.clock)
    context = Context.load(request.model, request.boards, *how, cost_table=request.cost_table)
    context = replace(context, programs=request.programs, max_time_increase=request.max_time_increase).for_programs()
    samples = load_samples(request.samples, context.graph)
    check_sample_numbers(samples, request.measuring, len(request.boards) if request.settings.use_all else 1)
    calibration = load_samples(request.calibration, context.graph) if request.calibration else samples
    calibration = calibration.first(request.calibration_count)
    print_reused_samples(calibration, samples, f"{CALIBRATION_SAMPLES} takes others", messages)
    if request.goal is None:
        joint, quantized = None, pipeline.quantize_network(context, calibration)
        context = context.of_quantized(quantized)
        split = pipeline.split_network(context, request.search, quantized)
    else:
        joint = pipeline.split_in_mixed_precision(context, request.search, calibration, request.goal)
        split, quantized = joint.split, joint.quantized
        context = context.of_quantized(quantized)
    split_file = pipeline.describe_split(context, split, joint.widths if joint else None)
    chosen = {name: getattr(split_file.settings, name) for name in ("baud", "links")}
    context = replace(context, settings=replace(context.settings, **chosen))
    parts, _ = pipeline.distribute_network(context, quantized, split.distributions)
    plans = pipeline.plan_boards(context, parts, split.problem, split.assignments)
    project = pipeline.write_projects(
        context, parts, plans, split_file, len(calibration.x), request.out, force=request.force
    )
    check_samples(project, samples, request.measuring)
    build = build_folder(project, request.out, messages)
    build.check()
    flash = flash_rig(project, request.out, request.measuring.rig, request.programmer, messages)
    measurement = measure_boards(project, request.out, quantized, samples, request.measuring, messages)
    return RunReport(
        split=split, split_file=split_file, build=build, flash=flash, measurement=measurement, mixed_precision=joint
    )
