"""Santamaria 2021: Table 3 against data of the devices, the experiment of Table 5, and what the text contradicts."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from tinysplit.boards.catalog import load_board
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit.common.units import KB, PERCENT
from tinysplit.papers.published_costs import PAPER_BITS_PER_BYTE, published_of
from tinysplit.papers.reproduce.costs import published_problem
from tinysplit.papers.reproduce.figures import (
    ALL_BOARDS,
    BYTES_ON_A_LINE,
    CPM,
    CUT_ANYWHERE,
    EIGHT_OR_TEN,
    EXPERIMENT,
    FORMULA_7,
    ONLY_LATENCY_MARKED,
    TABLE_3_RAM,
    TABLE_4,
    TABLE_5_EXPERIMENTAL,
    TABLE_5_LESS_PERCENT,
    TABLE_5_MODEL,
    Table4Row,
)
from tinysplit.papers.reproduce.reproduction import SANTAMARIA, Row
from tinysplit.papers.solvers.dichotomic import dichotomic_search
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.sub_models import sub_models
from tinysplit.split.problem import Assignment, Objective, Period, Problem
from tinysplit.split.solvers.labels.search import label_search

CONTRADICTIONS = "Contradictions"
MHZ = 1_000_000


def table_3() -> Iterator[Row]:
    """Yield the boards' rows: ours are the facts of the devices, of RAM all memories that hold data."""
    for name in dict.fromkeys(board for row in TABLE_4 for board in row.boards):
        board = load_board(name)
        device, printed = board.device, published_of(board)
        ram_bytes = sum(memory.size_bytes for memory in device.ram)
        for quantity, published, ours, why in (
            ("flash, KB", printed.flash_bytes // KB, str(device.flash.size_bytes // KB), ""),
            ("RAM, KB", printed.ram_bytes // KB, str(ram_bytes // KB), TABLE_3_RAM.get(name, "")),
            ("MHz", printed.hz // MHZ, str(device.max_hz // MHZ), ""),
            ("CpM", f"{printed.cpm:g}", "", CPM),
        ):
            yield Row(SANTAMARIA, "3", name, quantity, str(published), ours, (), why)


def table_5_experiment(cut_bytes: int, baud: int) -> Iterator[Row]:
    """Yield the rows of the experiment, whose tensor has `cut_bytes`: what follows from the other printed figures."""
    row = "Tiny-CNN, experimental"
    printed = TABLE_5_EXPERIMENTAL
    measured_l_s, measured_t_s = float(printed["L, s"]), float(printed["T, s"])
    line_s = cut_bytes * BITS_PER_BYTE / baud
    yield Row(SANTAMARIA, "5", row, "L, s", printed["L, s"], "", (), EXPERIMENT)
    yield Row(SANTAMARIA, "5", row, "T, s", printed["T, s"], f"{line_s:.2f}", (), BYTES_ON_A_LINE)
    yield Row(SANTAMARIA, "5", row, "I = L + T, s", printed["I, s"], f"{measured_l_s + measured_t_s:.2f}", (), "")
    less = PERCENT * (1 - measured_l_s / float(TABLE_5_MODEL["L, s"]))
    yield Row(SANTAMARIA, "5", row, "L below the model, %", TABLE_5_LESS_PERCENT, f"{less:.0f}", (), "")


def contradictions() -> Iterator[Row]:
    """Yield what follows from the text where Table 4 has something else."""
    rows = {row.model: row for row in TABLE_4}
    mobilenet, yamnet, kws = rows["MobileNet v1 025"], rows["YAMNet 256"], rows["KWS CNN"]
    free = replace(_problem(mobilenet), must_use_all=False)
    yield _contradiction(mobilenet, "latency, boards may be left out, s", label_search(free).objective, ALL_BOARDS)
    apart = replace(_problem(yamnet), joined=frozenset())
    yield _contradiction(yamnet, "latency, cut before the last layer, s", label_search(apart).objective, CUT_ANYWHERE)
    slower = label_search(_with_start_and_stop_bits(_problem(mobilenet))).objective
    yield _contradiction(mobilenet, "latency, 10 bit times a byte, s", slower, EIGHT_OR_TEN)
    by_formula = 1 / min(formula_7_s(_problem(kws), each) for each in _feasible(_problem(kws)))
    yield _contradiction(kws, "throughput by formula 7, 1/s", by_formula, FORMULA_7)
    for row in (yamnet, rows["KWS DS-CNN"]):
        by_period = replace(_problem(row), objective=Objective.THROUGHPUT, period_definition=Period.PAPER)
        throughput = 1 / dichotomic_search(by_period).objective
        yield _contradiction(row, "throughput, dichotomic, 1/s", throughput, ONLY_LATENCY_MARKED)


def formula_7_s(problem: Problem, assignment: Assignment) -> float:
    """Return the waiting time as the text has it (formula 7 and the list below it): of the board that computes longest.

    Its computation, its sending, and the computation of the sub-models between its own.
    """
    seconds = [layer.seconds[device] for layer, device in zip(problem.layers, assignment, strict=True)]
    computing = {
        device: sum(layer_s for layer_s, board in zip(seconds, assignment, strict=True) if board == device)
        for device in set(assignment)
    }
    longest = max(computing, key=lambda device: computing[device])
    runs = [run for run in sub_models(assignment) if run.device == longest]
    between_s = sum(seconds[runs[0].first : runs[-1].last + 1]) - computing[longest]
    cuts = evaluate(problem, assignment).cuts
    return computing[longest] + sum(cut.seconds for cut in cuts if cut.sender == longest) + between_s


def _problem(row: Table4Row) -> Problem:
    return published_problem(row.model, row.boards)


def _feasible(problem: Problem) -> Iterator[Assignment]:
    for assignment in product(range(len(problem.devices)), repeat=len(problem.layers)):
        if set(assignment) == set(range(len(problem.devices))) and evaluate(problem, assignment).is_feasible:
            yield assignment


def _with_start_and_stop_bits(problem: Problem) -> Problem:
    factor = BITS_PER_BYTE / PAPER_BITS_PER_BYTE
    scaled = tuple(tuple(tuple(factor * s for s in row) for row in layer) for layer in problem.transfer_seconds)
    return replace(problem, transfer_seconds=scaled)


def _contradiction(row: Table4Row, quantity: str, ours: float, why: str) -> Row:
    return Row(SANTAMARIA, CONTRADICTIONS, row.label, quantity, "", f"{ours:.3f}", (), why)
