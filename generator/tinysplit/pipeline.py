"""The stages in their order: each takes what the ones before it gave, and `run` is all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx
from rich.console import Console

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_all
from tinysplit.build.platformio import build_projects
from tinysplit.build.report import BuildReport, print_build
from tinysplit.codegen.projects import generate
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.output_folder import check_output_folder
from tinysplit.common.progress import steps
from tinysplit.common.project_files import MODEL_NAME, SPLIT_NAME
from tinysplit.costs.problem_builder import CostSettings, make_problem
from tinysplit.costs.suggestions import remedies
from tinysplit.costs.transfers import links_left
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.float_reference import run_float
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.plan import make_plan
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import SplitFile, check_split_matches, read_split, write_split
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.mixed_precision.joint_search import AutoSplit, settle
from tinysplit.quantize.quantize_model import Calibration, quantize_graph
from tinysplit.split.explain.alternatives import not_splitting
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.pareto import Against, Front, Solve
from tinysplit.split.pareto import pareto_front as front_of
from tinysplit.split.report.arrivals import ArrivalReport, simulate_arrivals
from tinysplit.split.report.split import print_split
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit_hil.measure import measure
from tinysplit_hil.outputs import check_outputs
from tinysplit_hil.report import MeasureReport
from tinysplit_hil.rig import check_rig, open_rig
from tinysplit_hil.tables import print_measurement


@dataclass(frozen=True)
class RunRequest:
    """What `run` is asked for; `calibration` None stands for the first of the samples."""

    model: Path
    boards: tuple[str, ...]
    settings: CostSettings
    solver: str
    samples: Path
    calibration: Path | None
    calibration_count: int
    out: Path
    rig: str
    count: int
    time_limit_s: float = DEFAULT_TIME_LIMIT_S
    goal: Goal | None = None  # of --bits auto


@dataclass(frozen=True)
class SplitReport:
    """A solved split and the file that says so."""

    solved: Split
    file: SplitFile

    def to_json(self) -> dict[str, Any]:
        """Return the file's content."""
        return self.file.model_dump(mode="json")


@dataclass(frozen=True)
class RunReport:
    """What every stage of `run` found; `auto` says how widths and split came about with --bits auto."""

    split: SplitReport
    build: BuildReport
    measurement: MeasureReport
    auto: AutoSplit | None = None

    def check(self) -> None:
        """Raise CheckFailedError unless all outputs are bit-exact."""
        self.measurement.check()

    def to_json(self) -> dict[str, Any]:
        """Return the measurement's JSON with `split` and `build` beside it."""
        return {
            **self.measurement.to_json(),
            "split": self.split.to_json(),
            "build": self.build.to_json(),
            **({"auto": self.auto.to_json()} if self.auto else {}),
        }


def print_run(report: RunReport, console: Console) -> None:
    """Print the tables of all stages; the last one is L, T, I."""
    for line in report.auto.lines() if report.auto else ():
        console.print(line, highlight=False, soft_wrap=True)
    print_split(report.split.solved, console)
    console.print()
    print_build(report.build, console)
    console.print()
    print_measurement(report.measurement, console)


def run(request: RunRequest, messages: Console) -> RunReport:
    """Do all of it; each stage's result lies in the folder `request.out`."""
    check_output_folder(request.out)
    check_rig(request.rig)
    graph = import_model(request.model)
    calibration = request.calibration or request.samples
    for path in {request.samples, calibration}:
        load_samples(path, graph)  # so that bad samples are refused before anything else is done
    if request.goal:
        split, project, auto = _run_auto(request, request.goal, graph, calibration, messages)
    else:
        split, project, auto = *_run_in_width(request, graph, calibration, messages), None
    build = build_folder(project, request.out, messages)
    build.check()
    measurement = measure_folder(project, request.out, request.samples, request.rig, request.count, messages)
    return RunReport(split, build, measurement, auto)


def _run_in_width(
    request: RunRequest, graph: Graph, calibration: Path, messages: Console
) -> tuple[SplitReport, Project]:
    """Split and generate in the settings' bits."""
    settings, count = request.settings, request.calibration_count
    split = split_graph(graph, request.boards, settings, request.solver, messages, time_limit_s=request.time_limit_s)
    kernels = settings.kernels
    project = generate_folder(
        graph, split.file, calibration, count, request.model, request.out, messages, kernels=kernels
    )
    return split, project


def _run_auto(
    request: RunRequest, goal: Goal, graph: Graph, calibration: Path, messages: Console
) -> tuple[SplitReport, Project, AutoSplit]:
    """Find widths and split together, and generate."""
    samples = load_samples(calibration, graph).first(request.calibration_count)
    calibrated = Calibration.of(graph, request.model, samples, messages)
    boards, settings = load_all(request.boards), request.settings
    with steps(messages, f"choosing widths of {graph.name} and splitting it over {', '.join(request.boards)}"):
        auto = settle(
            graph,
            lambda widths: _solved(graph, boards, settings, request.solver, request.time_limit_s, widths),
            lambda assignment: calibrated.auto(Limits(goal, boards, settings, assignment)),
        )
    calibrated.warn(auto.quantized, messages)
    split = _reported(auto.split, graph, boards, settings, request.solver, messages, auto.widths)
    used = replace(split.file.settings, kernels=settings.kernels)
    project = _write_projects(auto.quantized, split.file, used, len(samples.x), request.model, request.out, messages)
    return split, project, auto


def split_graph(
    graph: Graph,
    board_names: Sequence[str],
    settings: CostSettings,
    solver: str,
    messages: Console,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> SplitReport:
    """Find the best assignment of layers to boards; notes on `messages` say where not splitting would win."""
    boards = load_all(board_names)
    with steps(messages, f"splitting {graph.name} over {', '.join(board_names)}"):
        solved = _solved(graph, boards, settings, solver, time_limit_s)
    return _reported(solved, graph, boards, settings, solver, messages)


def _solved(
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    solver: str,
    time_limit_s: float,
    widths: BitWidths | None = None,
) -> Split:
    try:
        return _solve_on(boards, settings, solver)(make_problem(graph, boards, settings, widths), time_limit_s)
    except InfeasibleError as error:
        raise CheckFailedError(f"{error}{'' if settings.paper else remedies(graph, boards, settings)}") from None


def _reported(
    solved: Split,
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    solver: str,
    messages: Console,
    widths: BitWidths | None = None,
) -> SplitReport:
    """Print the notes on a split, and return it with its file."""
    if not settings.paper:
        for note in not_splitting(solved, _solve_on(boards, settings, solver)):
            messages.print(note, highlight=False, soft_wrap=True)
    left = links_left(settings.link_settings, solved.problem.links)  # routes have to be found again without the others
    return SplitReport(solved, SplitFile.of(solved, graph, boards, replace(settings, links=left), widths))


def pareto_front(
    graph: Graph,
    board_names: Sequence[str],
    settings: CostSettings,
    against: Against,
    solver: str,
    messages: Console,
    *,
    time_limit_s: float,
) -> Front:
    """Find all best compromises of latency against energy or throughput."""
    boards = load_all(board_names)
    problem = make_problem(graph, boards, settings)
    with steps(messages, f"weighing latency against {against} of {graph.name} over {', '.join(board_names)}"):
        return front_of(problem, against, _solve_on(boards, settings, solver), time_limit_s)


def arrivals(graph: Graph, split: SplitFile, per_second: float, count: int) -> ArrivalReport:
    """Simulate inputs at a frame rate through a split that was made before."""
    boards = load_all(split.board_names)
    check_split_matches(split, graph, boards)
    return simulate_arrivals(
        make_problem(graph, boards, split.settings, split.bit_widths), split.devices, per_second, count
    )


def _solve_on(boards: Sequence[Board], settings: CostSettings, solver: str) -> Solve:
    """Return what solves a problem of these boards with their link UARTs."""
    links = [len(boards) if settings.paper else len(board.link_uarts) for board in boards]
    return lambda problem, time_limit_s: solve_within_links(problem, links, solver, time_limit_s=time_limit_s)


def generate_folder(
    graph: Graph,
    split: SplitFile,
    calibration: Path,
    calibration_count: int,
    model: Path,
    out: Path,
    messages: Console,
    goal: Goal | None = None,
    kernels: tuple[tuple[int, str], ...] = (),
) -> Project:
    """Quantize the network on the first `calibration_count` samples and write the projects of all boards.

    Weights and values have the bits of the split; with a `goal`, 8 or 16 each as it needs. `kernels` names some, or
    schemes, by layers from 0.
    """
    boards = load_all(split.board_names)
    check_split_matches(split, graph, boards)
    check_output_folder(out)
    samples = load_samples(calibration, graph).first(calibration_count)
    # What runs is the quantized network, whatever found the split.
    settings = replace(split.settings, paper=False, kernels=kernels)
    bits = Limits(goal, boards, settings, split.devices) if goal else settings.bits
    quantized = quantize_graph(graph, model, samples, bits, messages)
    return _write_projects(quantized, split, settings, len(samples.x), model, out, messages)


def _write_projects(
    quantized: QuantizedGraph,
    split: SplitFile,
    settings: CostSettings,
    calibration_samples: int,
    model: Path,
    out: Path,
    messages: Console,
) -> Project:
    """Plan every board for a quantized network and write its project."""
    graph, boards, widths = quantized.graph, load_all(split.board_names), BitWidths.of_quantized(quantized)
    problem = make_problem(graph, boards, settings, widths)
    links, kernels = settings.link_settings, settings.kernels
    plan = make_plan(graph, widths, boards, problem, split.devices, links, settings.optimize, kernels)
    with steps(messages, f"generating {out}"):
        project = generate(quantized, plan, settings.baud, calibration_samples, onnx.load(model), out)
        write_split(out / SPLIT_NAME, split)
    return project


def build_folder(project: Project, out: Path, messages: Console) -> BuildReport:
    """Build all boards' projects and read the sizes of their programs."""
    directories = [out / board.directory for board in project.boards]
    with steps(messages, f"building {len(directories)} projects", len(directories)) as advance:
        done: list[Path] = []

        def count_built(directory: Path) -> None:
            done.append(directory)
            advance(len(done))

        elfs = build_projects(directories, count_built)
    return BuildReport.read(project, elfs)


def measure_folder(
    project: Project, folder: Path, samples_path: Path, rig_spec: str, count: int, messages: Console
) -> MeasureReport:
    """Run the first `count` samples on the boards and hold every output against the integer reference."""
    quantized = read_quantized(folder, project)
    samples = load_samples(samples_path, quantized.graph)
    inputs = quantize_input(quantized, samples.x[:count])
    with (
        open_rig(rig_spec, project, folder) as rig,
        steps(messages, f"running on {rig.kind} boards", len(inputs)) as advance,
    ):
        measurement = measure(project, rig, inputs, advance)
    with steps(messages, f"integer and float reference of {len(samples.x)} samples"):
        integers = run_integer(quantized, samples.x)
        floats = run_float(folder / MODEL_NAME, samples.x)
    outputs = check_outputs(quantized, measurement.outputs, integers, floats, samples.y)
    return MeasureReport(project, measurement, outputs)


def read_split_for(path: Path, bits: int | None) -> SplitFile:
    """Read a split file; UsageError when it was made for another number of bits (None: any will do)."""
    split = read_split(path)
    if bits is not None and split.widths:
        raise UsageError(f"{path} was made with --bits auto: take that, or split again with --bits {bits}")
    if bits is not None and split.bits != bits:
        raise UsageError(f"{path} was made for {split.bits} bits, not {bits}: split again with --bits {bits}")
    return split
