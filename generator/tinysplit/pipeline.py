"""The stages up to the projects, each one function of what the stages before it returned; `run.py` calls them all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from tinysplit.boards.board import Board
from tinysplit.boards.less_sure import less_sure
from tinysplit.codegen.projects import generate
from tinysplit.common.choices import (
    DEFAULT_CALIBRATION_COUNT,
    DEFAULT_TIME_LIMIT_S,
    Copies,
    InputSource,
    SecondObjective,
    Slices,
)
from tinysplit.common.errors import CheckFailedError, InputError, UsageError
from tinysplit.common.folder_lock import locked_folder
from tinysplit.common.output_folder import check_output_folder
from tinysplit.common.progress import steps
from tinysplit.context import Context
from tinysplit.costs.cost_model import cost_model_of
from tinysplit.costs.problem_builder import lack_flash, make_problem, make_problems
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.suggestions import sufficient_changes
from tinysplit.costs.transfers import links_left
from tinysplit.memory.shared_memory import unaligned_rows
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distributions
from tinysplit.network.distribution_check import check_distributions
from tinysplit.network.onnx_file.model_source import load_source
from tinysplit.network.quantized_distribution import distribute_quantized
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.removal.reduced_network import reduced_graph, reduced_network, removal_line
from tinysplit.network.removal.removable_channels import removable_channels
from tinysplit.network.sample_files import SampleSource
from tinysplit.network.samples import Samples, load_samples
from tinysplit.plan.copies import plan_copies
from tinysplit.plan.flash_front import FlashChoice, FlashPoint, Planned, flash_front
from tinysplit.plan.plan import Plan
from tinysplit.plan.planned_split import PlacedNetwork, split_of_plans, with_programs
from tinysplit.plan.predicted_memory import PredictedMemory
from tinysplit.plan.predicted_split import predict_split
from tinysplit.plan.what_if import SEARCH_LIMIT_S, faster_with
from tinysplit.project.manifest import Project
from tinysplit.project.placement import plans_of_file
from tinysplit.project.removed_channels import lists_of, without_channels
from tinysplit.project.split_file import SplitFile, check_split_matches
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits, allocate_bits
from tinysplit.quantize.mixed_precision.joint_search import JointSplit, search_jointly
from tinysplit.quantize.quantize_model import print_scales, quantize_model
from tinysplit.quantize.scale_search import TimeLimit
from tinysplit.quantize.warnings import print_warnings
from tinysplit.settings.search import REPLICATE, SLICES
from tinysplit.slices.choice import SliceRequest
from tinysplit.slices.settings import Search
from tinysplit.split.alternatives import best_of
from tinysplit.split.copies import solve_with_copies
from tinysplit.split.explain.alternatives import better_alternatives
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.explain.reasons import Reasons, reasons_for
from tinysplit.split.given import assignment_text, given_split, parse_assignment
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.pareto import Front
from tinysplit.split.pareto import pareto_front as front_of
from tinysplit.split.problem import Assignment, Problem, check_currents
from tinysplit.split.report.arrivals import ArrivalReport, Arrivals, simulate_arrivals
from tinysplit.split.solution import GIVEN, Considered, Placement, Split
from tinysplit.timing.loss import Loss


def split_network(context: Context, search: Search, quantized: QuantizedGraph | None = None) -> Split:
    """Find the best assignment of layers to boards, or take the given one, and print better alternatives to splitting.

    Times of whole layers are those with the integer weights of `quantized`, if given. Raises CheckFailedError where no
    split is feasible, or none was found in time.
    """
    with steps(context.messages, f"splitting {context.title}"):
        split = _best(context, search, BitWidths.of(context.graph, context.settings.bits), quantized)
    _print_alternatives(context, split, search)
    return split


def reasons_of(
    context: Context, search: Search, split: Split, file: SplitFile, *, tries_another_board: bool
) -> Reasons:
    """Return why a split was taken, and what would make it faster: see `faster_with`.

    With `tries_another_board`, which takes another search, also a board more.
    """
    problem = make_problem(context.table, context.graph, context.boards, context.settings)
    quiet = replace(context, messages=Console(quiet=True))

    def best_on(boards: Sequence[Board]) -> float:
        more = replace(search, time_limit_s=min(search.time_limit_s, SEARCH_LIMIT_S))
        widths = BitWidths.of(context.graph, context.settings.bits)
        return _best(replace(quiet, boards=tuple(boards)), more, widths).value

    def of_taken(boards: Sequence[Board], settings: CostSettings) -> float:
        return place(replace(quiet, boards=tuple(boards), settings=settings), split.placement).value

    def of_other(other: Considered) -> float:
        settings = context.settings if other.links is None else replace(context.settings, links=other.links)
        return place(replace(quiet, settings=settings), other.placement).value

    used = [context.boards[device] for device in sorted(set(split.assignment))]
    lacking = bool(split.distributions) or lack_flash(context.table, context.graph, used, context.settings)
    another = best_on if tries_another_board else None
    faster = faster_with(context.boards, file.settings, split, of_taken, another, lack_flash=lacking)
    return reasons_for(split, problem, of_other, faster)


def flash_front_of(context: Context, split: Split, predicted: Mapping[int, PredictedMemory]) -> Sequence[FlashPoint]:
    """Return the choice between time and flash that the boards of a split have; `predicted` are its programs."""

    def planned(choice: FlashChoice) -> Planned:
        settings = replace(
            context.settings, optimize=choice.optimize, max_flash_bytes=choice.max_flash_bytes, use_all=False
        )
        own = replace(context, settings=settings, messages=Console(quiet=True))
        found = place(own, split.placement)
        return found, flash_of(predict_split(own.table, own.graph, own.boards, found, settings))

    def flash_of(programs: Mapping[int, PredictedMemory]) -> Mapping[int, int]:
        return {number: memory.flash_bytes for number, memory in programs.items()}

    taken = FlashChoice(context.settings.optimize, context.settings.max_flash_bytes)
    with steps(context.messages, f"choice between time and flash of {context.title}"):
        return flash_front(context.boards, taken, (split, flash_of(predicted)), planned)


def place(context: Context, placement: Placement) -> Split:
    """Return a placement as a split, with the programs of its plans."""
    widths = BitWidths.of(context.graph, context.settings.bits)
    placed = PlacedNetwork.of(context.graph, widths, len(context.boards), placement)
    problem = placed.problem(context.table, context.boards, context.settings)
    split = Split(
        *(problem, placed.assignments[0], 0.0, 0, GIVEN, 0.0),
        copies=placement.copies,
        distributions=placement.distributions,
    )
    return _planned(context, split, widths)


def split_in_mixed_precision(context: Context, search: Search, samples: Samples, goal: Goal) -> JointSplit:
    """Find a split and bit widths with which the network meets `goal`, each consistent with the other.

    Raises CheckFailedError where no split is feasible or no widths that fit the boards meet the goal.
    """
    graph, messages = context.graph, context.messages
    calibration = Calibration.of(graph, context.model, samples, messages, _time_limit(context))
    print_scales(calibration, messages)
    context = replace(context, graph=reduced_graph(graph, {}))
    with steps(messages, f"choosing bit widths and splitting {context.title}"):
        joint = search_jointly(
            context.graph,
            lambda widths: _best(context, search, widths),
            lambda placement: allocate_bits(calibration, _limits(context, goal, placement)),
        )
    print_warnings(joint.quantized, calibration, messages)
    _print_alternatives(context, joint.split, search)
    return replace(joint, quantized=reduced_network(_for_programs(context, joint.quantized), {}))


def describe_split(context: Context, split: Split, widths: BitWidths | None = None) -> SplitFile:
    """Return the file of a split; it names all rates, and the links that are left out, as routes depend on them."""
    settings, chosen = context.settings, context.settings.link_settings_on(context.boards)
    settings = replace(settings, baud=chosen.baud, links=links_left(chosen, split.problem.links))
    return SplitFile.of(split, context.graph, context.boards, settings, widths, context.removed)


def reassign(
    context: Context, split: SplitFile, assignment: str | None = None, *, title: str = "the split"
) -> SplitFile:
    """Return the split with `assignment`, as in `Search`, or with the one that was edited in the file; else `split`.

    Raises InputError for the split of another network or of other boards, which calls it `title`, CheckFailedError
    where it is not feasible.
    """
    check_split_matches(split, context.graph, context.boards, title)
    if assignment is None and not split.is_edited:
        return split
    context = replace(context.of_split(split), settings=split.settings)
    problem = make_problem(context.table, context.graph, context.boards, split.settings, split.bit_widths)
    found = _planned(context, _given(context, problem, assignment or assignment_text(split.devices)), split.bit_widths)
    return describe_split(context, found, split.bit_widths)


def pareto_front(context: Context, against: SecondObjective, search: Search) -> Front:
    """Find the Pareto front of latency and energy or throughput, over whole layers, divided ones and copies.

    Raises CheckFailedError where no split is feasible or none was found in time, InputError for energy where the
    currents of a board are not known.
    """
    widths = BitWidths.of(context.graph, context.settings.bits)
    problem = make_problem(context.table, context.graph, context.boards, context.settings)
    if against is SecondObjective.ENERGY:
        check_currents(problem.devices)
    request = _slice_request(context, replace(search, time_limit_s=DEFAULT_TIME_LIMIT_S), widths)
    divides, solve = request.may_divide(context.messages), _solver(context, search)
    if divides:
        solve = partial(request.best_within, solve=solve, planned=lambda found: _planned(context, found, widths))
    with steps(context.messages, f"Pareto front of latency and {against} of {context.title}"):
        return front_of(problem, against, solve, search.time_limit_s, divides=divides)


def simulate(
    context: Context, split: SplitFile, arrivals: Arrivals, loss: Loss, *, keeps_events: bool = False
) -> ArrivalReport:
    """Simulate inputs on a split of the context's network."""
    context = context.of_split(split)
    graph, boards, settings = context.graph, context.boards, context.settings
    plans = plans_of_file(context.table, split, graph, boards, settings)
    whole = make_problem(context.table, graph, boards, settings, split.bit_widths)
    placed = split_of_plans(plans, split.distributions)
    return simulate_arrivals(placed, whole, arrivals, loss, keeps_events=keeps_events)


def quantize_network(
    context: Context, samples: Samples, goal: Goal | None = None, split: SplitFile | None = None
) -> QuantizedGraph:
    """Quantize the network, calibrated on `samples`, to the settings' bits, and remove channels that it can lack.

    With a `goal`, weights and values get 8 or 16 bits each, as fast as the placement of `split` allows. Raises
    CheckFailedError where no widths that fit the boards meet the goal. With a `structure`, the formats are its.
    Programs whose weights other ones can replace have all channels. Raises InputError where `split` divides layers
    with other channels.
    """
    placement = split.placement if split else None
    bits = _limits(context, goal, placement) if goal else context.settings.bits
    kept = context.programs.structure
    given = kept.formats if kept else bits
    quantization = quantize_model(context.graph, context.model, samples, given, context.messages, _time_limit(context))
    print_warnings(quantization.quantized, quantization.calibration, context.messages)
    return _without_channels(context, quantization.quantized, split)


def _without_channels(context: Context, quantized: QuantizedGraph, split: SplitFile | None) -> QuantizedGraph:
    """Return a network without the channels and pixels that it can lack, or that a split of divided layers has not."""
    keeps_all = context.programs.weights_counter is not None
    quantized = _for_programs(context, quantized)
    if split and split.distributions:
        if split.settings.cost_model:
            return quantized
        try:
            reduced = without_channels(quantized, split.removed_channels or {})
        except ValueError as error:
            raise InputError(f"the split does not fit the quantized network ({error}): split again") from None
    else:
        reduced = reduced_network(quantized, {} if keeps_all else removable_channels(quantized))
    if reduced.graph.macc < quantized.graph.macc:
        line = removal_line(quantized.graph, reduced.graph, reduced.removed)
        context.messages.print(line, highlight=False, soft_wrap=True)
    return reduced


def _for_programs(context: Context, quantized: QuantizedGraph) -> QuantizedGraph:
    """Return a network whose code does not follow from its weights, where others may replace these."""
    return quantized if context.programs.weights_counter is None else quantized.exchangeable


def distribute_network(
    context: Context, quantized: QuantizedGraph, how: Distributions | None
) -> tuple[QuantizedGraph, Sequence[Assignment]]:
    """Return the parts of a quantized network, where its layers are divided over boards, and the board of each."""
    if how is None:
        return quantized, ()
    parts = distribute(quantized.graph, how, len(context.boards), BitWidths.of_quantized(quantized))
    distributed = distribute_quantized(quantized, parts)
    for reason in unaligned_rows(parts, BitWidths.of_quantized(distributed)):
        raise InputError(reason)
    return distributed, (parts.boards,)


def plan_boards(
    context: Context, quantized: QuantizedGraph, problem: Problem, assignments: Sequence[Assignment]
) -> tuple[Plan, ...]:
    """Plan steps, links and memory of every board of each copy of the network. The errors are those of `make_plan`."""
    settings = context.settings
    widths = BitWidths.of_quantized(quantized)
    chosen = (settings.link_settings_on(context.boards), settings.optimize, settings.kernels, settings.code_memory)
    boards = settings.limited(context.boards)
    return plan_copies(context.table, quantized.dequantized, widths, boards, problem, assignments, *chosen)


def write_projects(
    context: Context,
    quantized: QuantizedGraph,
    plans: Sequence[Plan],
    split: SplitFile,
    calibration_samples: int,
    out: Path,
    *,
    force: bool = False,
) -> Project:
    """Write one PlatformIO project per board and the split file. The errors are those of `whole_folder`."""
    with steps(context.messages, f"generating {out}"):
        bauds = (context.settings.link_settings_on(context.boards).baud, context.settings.host_baud_on(context.boards))
        files = (calibration_samples, load_source(context.model), out)
        return generate(quantized, plans, bauds, *files, context.programs, split=split, force=force)


def generate_folder(
    context: Context,
    split: SplitFile,
    calibration: Path | SampleSource,
    out: Path,
    *,
    calibration_count: int = DEFAULT_CALIBRATION_COUNT,
    goal: Goal | None = None,
    force: bool = False,
) -> Project:
    """Run the stages between a split file and the projects: quantize, plan, write. Without a host, inputs are boards'.

    Raises InputError for a split of another network or other boards, for unusable samples, and where `out` cannot be
    used; UsageError and CheckFailedError as the stages do; ToolError while another command generates or builds in it.
    """
    check_split_matches(split, context.graph, context.boards)
    if split.distributions:
        check_distributions(context.of_split(split).graph, split.distributions, len(context.boards))
    if structure := context.programs.structure:
        structure.check_use(out, has_limits=goal not in (None, Goal()))
    if context.programs.standalone:
        split = split.model_copy(update={"input_source": InputSource.BOARD})
    context = replace(context, settings=replace(context.settings, input_source=split.input_source)).for_programs()
    with locked_folder(out):
        check_output_folder(out, force=force)
        samples = load_samples(calibration, context.graph).first(calibration_count)
        quantized = quantize_network(context, samples, goal, split)
        split = split.model_copy(update={"removed_channels": lists_of(quantized.removed)})
        quantized, assignments = distribute_network(context, quantized, split.distributions)
        widths = BitWidths.of_quantized(quantized)
        problem = make_problem(context.table, quantized.graph, context.boards, context.settings, widths)
        plans = plan_boards(context, quantized, problem, assignments or split.assignments)
        return write_projects(context, quantized, plans, split, len(samples.x), out, force=force)


def _best(context: Context, search: Search, widths: BitWidths, quantized: QuantizedGraph | None = None) -> Split:
    """Return the best split in `widths`: of whole layers, copies of the network, or layers divided over boards.

    With an assignment, that split. Programs of a `Structure` have whole layers, unless divided ones are asked for.
    """
    if search.assignment is not None:
        problem = make_problem(context.table, context.graph, context.boards, context.settings, widths, quantized)
        return _planned(context, _given(context, problem, search.assignment), widths)
    return _slice_request(context, search, widths).best(
        lambda time_limit_s: _solve(context, replace(search, time_limit_s=time_limit_s), widths, quantized),
        lambda found: _planned(context, found, widths),
        context.messages,
    )


def _slice_request(context: Context, search: Search, widths: BitWidths) -> SliceRequest:
    """Return what is to be split, and how layers may be divided. Raises UsageError for contradictions."""
    if search.divides_layers and search.copies is Copies.ALWAYS:
        raise UsageError(f"{REPLICATE(True)} gives boards the whole network: leave {SLICES} out")
    ends = tuple(number and number - 1 for number in (search.input_board, search.output_board))
    keeps_whole = search.copies is Copies.ALWAYS or context.programs.weights_counter is not None
    slices = Slices.NONE if keeps_whole and not search.divides_layers else search.slices
    how = (slices, search.slice_solver, ends, search.time_limit_s)
    boards = context.settings.limited(context.boards)
    return SliceRequest(context.table, context.graph, boards, context.settings, widths, *how)


def _solve(
    context: Context, search: Search, widths: BitWidths | None = None, quantized: QuantizedGraph | None = None
) -> Split:
    """Return the best split in the settings' bits, or in `widths`; explain why there is none."""
    problems = make_problems(context.table, context.graph, context.boards, context.settings, widths, quantized)
    solver = _solver(context, search)
    try:
        return best_of(problems, lambda each: solve_with_copies(each, solver, search.time_limit_s, search.copies))
    except InfeasibleError as error:
        settings = context.settings
        hint = "" if settings.cost_model else sufficient_changes(context.table, context.graph, context.boards, settings)
        raise CheckFailedError(f"{error.message}{hint}") from None


def _planned(context: Context, split: Split, widths: BitWidths | None = None) -> Split:
    """Return the split with the programs of its plans, see `with_programs`."""
    return with_programs(split, context.table, context.graph, context.boards, context.settings, widths)


def _solver(context: Context, search: Search) -> Callable[[Problem, float], Split]:
    """Return a function that solves a problem of the context's boards and link UARTs within a time limit in seconds."""
    links = _link_counts(context)
    return lambda problem, time_limit_s: solve_within_links(problem, links, search.solver, time_limit_s=time_limit_s)


def _given(context: Context, problem: Problem, assignment: str) -> Split:
    """Return the split with an assignment that was given as text. Raises UsageError or CheckFailedError without one."""
    devices = parse_assignment(assignment, len(context.graph.layers), len(context.boards))
    return given_split(problem, devices, _link_counts(context))


def _link_counts(context: Context) -> Sequence[int]:
    """Return how many neighbours each board may have: see `LinkSettings.counts`, by a cost model all."""
    if context.settings.cost_model:
        return [len(context.boards)] * len(context.boards)
    return context.settings.link_settings_on(context.boards).counts(context.boards)


def _print_alternatives(context: Context, split: Split, search: Search) -> None:
    """Print whether one board or replication is better than the split; of a cost model, what its figures are.

    Divided layers were compared with both: their problem has parts, which no other board can have.
    """
    model = context.settings.cost_model
    for note in less_sure(split.problem.devices):
        context.messages.print(note, highlight=False, soft_wrap=True)
    if split.distributions:
        return
    notes = (cost_model_of(model).note,) if model else better_alternatives(split, _solver(context, search))
    for note in notes:
        context.messages.print(note, highlight=False, soft_wrap=True)


def _time_limit(context: Context) -> TimeLimit:
    return TimeLimit.on(context.boards, context.table, context.max_time_increase)


def _limits(context: Context, goal: Goal, placement: Placement | None) -> Limits:
    return Limits(context.table, goal, context.boards, context.settings, placement)
