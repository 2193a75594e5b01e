"""Explorations: every candidate once, equal fronts from all kinds of workers, and recovery from lost workers."""

import json
import os
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from distributed import LocalCluster

from models.networks import tiny_cnn
from session.profiles import cases
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError, InputError, ToolError, UsageError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.explore import workers as workers_module
from tinysplit.explore.axes import Axis
from tinysplit.explore.candidates import SetCandidate, Space
from tinysplit.explore.evaluate import EvaluatedSplit, Outcome, Solving, Tables, evaluate_candidates
from tinysplit.explore.exploration import Exploration, explore, journal_name
from tinysplit.explore.front import non_dominated
from tinysplit.explore.goal import Ranked, RankingGoal
from tinysplit.explore.journal import Journal
from tinysplit.explore.prices import read_prices
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.explore.report.to_json import exploration_json
from tinysplit.explore.request import ExploreRequest
from tinysplit.explore.simulated import simulated_figures
from tinysplit.explore.stopping import Stopped
from tinysplit.explore.workers import Batch, DaskCluster, LocalProcesses
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.layers import Lookup, Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.split.evaluate.evaluation import evaluate

NAMES = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l412kb")
BOARDS = tuple(map(load_board, NAMES))
GRAPH = replace(tiny_cnn(), sha256="0" * 64)
SETTINGS = CostSettings()
LONG_S = 600.0  # for processes of their own, whose clock is that of the machine
BY_COPIES = 0.01  # relative: searches do not know what the copy of the input takes
SPACE = Space((GRAPH.sha256,), BOARDS, 2, (115200, 1_000_000), (8, 16))
REQUEST = ExploreRequest(
    shipped_table(), (GRAPH,), SPACE, RankingGoal(SETTINGS), time_limit_s=LONG_S, slices=Slices.NONE
)
N_CANDIDATES = 2 * (3 + 2 * 6)  # widths x (boards alone + baud rates x pairs)


class InThisProcess:
    """Does the work itself, and stops after some batches."""

    def __init__(self, batches: int | None = None) -> None:
        self.batches = batches
        self.seen: list[SetCandidate] = []

    def run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        for number, batch in enumerate(batches):
            if number == self.batches:
                raise KeyboardInterrupt
            self.seen += batch
            yield evaluate_candidates(tables, batch, solving)

    def close(self) -> None:
        pass


def run(journal: Path, workers: InThisProcess | LocalProcesses | DaskCluster, space: Space = SPACE) -> Exploration:
    shown: list[tuple[int, int]] = []
    result = explore(replace(REQUEST, space=space), journal, workers, lambda *done: shown.append(done))
    assert shown[-1] == (len(result.outcomes), len(tuple(space.candidates())))
    return result


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Exploration:
    return run(tmp_path_factory.mktemp("explore") / "journal.jsonl", InThisProcess())


def test_every_candidate_comes_once_and_boards_may_come_twice() -> None:
    candidates = tuple(SPACE.candidates())
    assert len(candidates) == len(set(candidates)) == N_CANDIDATES
    assert SetCandidate(GRAPH.sha256, 8, 115200, ("nucleo_g071rb", "nucleo_g071rb")) in candidates
    assert candidates[:30] == tuple(replace(SPACE, max_boards=3).candidates())[:30]


def test_boards_that_cannot_generate_a_baud_rate_are_skipped() -> None:
    space = replace(SPACE, bauds=(20_000_000,), bits=(8,))
    assert not any(candidate.baud for candidate in space.candidates())
    assert list(replace(space, bauds=(115200,)).notes()) == []
    slow, fast = replace(space, bauds=(1, 20_000_000)).notes()
    assert slow == "note: no board can have links at 1 baud: sets of several boards are skipped at this rate"
    assert fast.startswith("note: no board can have links at 20000000 baud")
    assert list(replace(space, max_boards=1).notes()) == []


@pytest.mark.parametrize("names", [("nucleo_f401re",), ("nucleo_g071rb", "nucleo_g071rb", "nucleo_l412kb")])
def test_problems_are_those_of_the_boards_themselves(names: tuple[str, ...]) -> None:
    picked = ProblemTable.of(shipped_table(), GRAPH, BOARDS, SETTINGS).problem_of(names)
    assert picked == make_problem(
        shipped_table(), GRAPH, tuple(map(load_board, names)), replace(SETTINGS, use_all=True)
    )


def test_boards_whose_rates_differ_too_much_are_in_no_set() -> None:
    boards = tuple(map(load_board, ("nucleo_g071rb", "nucleo_l452re")))
    space = replace(SPACE, boards=boards, bauds=(3_000_000,), bits=(8,))
    sets = {each.boards for each in space.candidates()}
    assert sets == {(each.name,) * count for each in boards for count in (1, 2)}
    (note,) = space.notes()
    assert note.startswith("note: the rates of nucleo_g071rb and nucleo_l452re differ too much at 3000000 baud: sets")
    settings = replace(SETTINGS, baud=3_000_000)
    picked = ProblemTable.of(shipped_table(), GRAPH, boards, settings).problem_of(("nucleo_l452re",) * 2)
    assert picked == make_problem(shipped_table(), GRAPH, boards[1:] * 2, replace(settings, use_all=True))


def test_fronts_against_brute_force() -> None:
    rng = random.Random(0)  # noqa: S311 (no secret)
    for _ in range(cases(quick=20, full=200, nightly=2000)):
        items = [tuple(rng.randrange(4) for _ in range(3)) for _ in range(rng.randrange(30))]
        front = non_dominated(items, lambda item: item)

        def is_beaten(item: tuple[int, ...], items: Sequence[tuple[int, ...]] = items) -> bool:
            return any(other != item and all(a <= b for a, b in zip(other, item, strict=True)) for other in items)

        assert set(front) == {item for item in items if not is_beaten(item)}
        assert len(set(front)) == len(front)


def test_a_front_is_what_brute_force_over_all_assignments_leaves(expected: Exploration) -> None:
    front = expected.front(GRAPH, 8)
    fastest, thriftiest = (min(entry.quantity(axis) for entry in front) for axis in (Axis.LATENCY, Axis.ENERGY))
    assert {entry.price for entry in front} <= {1.0, 2.0}
    problems = [
        make_problem(
            shipped_table(),
            GRAPH,
            tuple(map(load_board, candidate.boards)),
            replace(SETTINGS, baud=candidate.baud or 115200, use_all=True),
        )
        for candidate in SPACE.candidates()
        if candidate.bits == 8
    ]
    feasible = [
        simulated_figures(problem, assignment)
        for problem in problems
        for assignment in product(range(len(problem.devices)), repeat=len(GRAPH.layers))
        if evaluate(problem, assignment).is_feasible
    ]
    assert fastest == pytest.approx(min(figures.latency_s for figures in feasible), rel=BY_COPIES)
    assert thriftiest == pytest.approx(min(figures.energy_j for figures in feasible), rel=BY_COPIES)


def test_an_interrupted_exploration_goes_on_where_it_stopped(tmp_path: Path, expected: Exploration) -> None:
    journal = tmp_path / "journal.jsonl"
    interrupted = run(journal, first := InThisProcess(batches=2))
    assert interrupted.stopped is Stopped.INTERRUPTED
    assert interrupted.outcomes == expected.outcomes[: len(first.seen)]
    assert interrupted.front(GRAPH, 8)
    with journal.open("ab") as file:
        file.write(b'{"model": "cut off')
    assert run(journal, second := InThisProcess()) == expected
    assert len(first.seen) + len(second.seen) == N_CANDIDATES
    assert run(journal, third := InThisProcess()) == expected
    assert not third.seen


def test_more_boards_go_on_from_fewer(tmp_path: Path, expected: Exploration) -> None:
    journal = tmp_path / "journal.jsonl"
    run(journal, InThisProcess(), replace(SPACE, max_boards=1))
    assert run(journal, workers := InThisProcess()) == expected
    assert len(workers.seen) == N_CANDIDATES - 6


def test_local_processes_find_the_same(tmp_path: Path, expected: Exploration) -> None:
    assert run(tmp_path / "journal.jsonl", LocalProcesses(2)) == expected


def test_there_is_a_process_for_each_processor_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 3, 5})
    assert LocalProcesses().count == 3


def die_once(marker: Path, tables: Tables, candidates: Sequence[SetCandidate], solving: Solving) -> list[Outcome]:
    """Evaluate, but kill the own process at the very first batch."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return evaluate_candidates(tables, candidates, solving)


def always_die(_tables: Tables, _candidates: Sequence[SetCandidate], _solving: Solving) -> list[Outcome]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.mark.slow
def test_a_killed_process_loses_nothing(tmp_path: Path, expected: Exploration) -> None:
    workers = LocalProcesses(2, partial(die_once, tmp_path / "died"))
    assert run(tmp_path / "journal.jsonl", workers) == expected
    assert (tmp_path / "died").exists()


@pytest.mark.slow
def test_a_batch_that_kills_every_process_ends_the_exploration(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="workers died 3 times with nucleo_g071rb"):
        run(tmp_path / "journal.jsonl", LocalProcesses(1, always_die))


@pytest.mark.slow
def test_a_cluster_whose_workers_are_killed_loses_nothing(tmp_path: Path, expected: Exploration) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        workers = DaskCluster(cluster.scheduler_address, partial(die_once, tmp_path / "died"))
        assert run(tmp_path / "journal.jsonl", workers) == expected
    assert (tmp_path / "died").exists()


@pytest.mark.slow
def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "CONNECT_TIMEOUT_S", 0.5)
    with pytest.raises(ToolError, match=r"no Dask scheduler responds at tcp://127\.0\.0\.1:1"):
        DaskCluster("tcp://127.0.0.1:1")


def test_a_journal_of_other_costs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, {"cost_model": "a"}) as journal:
        journal.add([Outcome(SetCandidate("m", 8, 0, ("b",)), (EvaluatedSplit(1.0, 2.0, 3.0, (0,), True),))])
    with Journal(path, {"cost_model": "a"}) as journal:
        assert journal.outcomes
    with pytest.raises(InputError, match="started with another cost model"):
        Journal(path, {"cost_model": "b"})


def test_the_usual_journal_is_another_one_for_other_conditions() -> None:
    name = journal_name(REQUEST)
    same = replace(REQUEST, space=replace(SPACE, bauds=(9600,), boards=BOARDS[::-1]), n_best=3)
    assert journal_name(same) == name  # may be continued
    others = {
        journal_name(replace(REQUEST, space=replace(SPACE, boards=BOARDS[:2]))),
        journal_name(replace(REQUEST, goal=RankingGoal(replace(SETTINGS, bits_per_byte=11)))),
        journal_name(replace(REQUEST, goal=RankingGoal(SETTINGS, Ranked.LATENCY))),
        journal_name(replace(REQUEST, axes=(Axis.LATENCY, Axis.PERIOD))),
        journal_name(replace(REQUEST, time_limit_s=6.0)),
    }
    assert len(others - {name}) == 5


@pytest.mark.parametrize(
    "text", ["no json\n", "no line", '{"schema_version": 3, "cost_model": "a"}\n{"model": 1}\n', "[]\n"]
)
def test_what_is_no_journal_stays_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"line \d, is not part of a journal"):
        Journal(path, {"cost_model": "a"})
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("latency_s", "NaN"),
        ("energy_j", "Infinity"),
        ("period_s", "-1.0"),
        ("latency_s", '"1"'),
        ("energy_j", "true"),
        ("proved", "1"),
        ("assignment", "[1]"),
        ("assignment", "[]"),
    ],
)
def test_points_that_no_split_has_are_damage(figure: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, {}) as journal:
        journal.add([Outcome(SetCandidate("m", 8, 0, ("b",)), (EvaluatedSplit(1.0, 2.0, 3.0, (0,), True),))])
    header, line = path.read_text().splitlines()
    outcome = json.loads(line)
    outcome["points"][0][figure] = "HERE"
    path.write_text(f"{header}\n{json.dumps(outcome).replace(json.dumps('HERE'), value)}\n")
    with pytest.raises(InputError, match="line 2, is not part of a journal"):
        Journal(path, {})


def test_prices_decide_the_front_and_limit_the_sets(tmp_path: Path, expected: Exploration) -> None:
    path = tmp_path / "prices.toml"
    path.write_text("nucleo_g071rb = 10\nnucleo_f401re = 14.5\nnucleo_l412kb = 11\n")
    dear = RankingGoal(SETTINGS, prices=read_prices(path, BOARDS), max_price=24.5)
    assert dear.price(("nucleo_g071rb", "nucleo_f401re")) == 24.5
    assert {entry.price for entry in replace(expected, request=replace(REQUEST, goal=dear)).front(GRAPH, 8)} > {11.0}
    pairs = {each.boards for each in replace(REQUEST, goal=dear).candidates() if each.baud}
    assert ("nucleo_g071rb", "nucleo_f401re") in pairs
    assert ("nucleo_f401re", "nucleo_l412kb") not in pairs
    for price in ("-1", "nan", "inf", "true", '"ten"'):
        path.write_text(f"nucleo_g071rb = {price}\n")
        with pytest.raises(InputError, match=r"has the price .* for nucleo_g071rb: a price is a number"):
            read_prices(path, BOARDS)
    path.write_text("nucleo_f401re = 1\n")
    with pytest.raises(InputError, match="has no price for nucleo_g071rb: add one"):
        read_prices(path, BOARDS)
    path.write_text("not toml")
    with pytest.raises(InputError, match="is not TOML"):
        read_prices(path, BOARDS)


def test_bad_spaces() -> None:
    with pytest.raises(UsageError, match="--max-boards 65: a split has at most 64 boards"):
        replace(SPACE, max_boards=65)
    with pytest.raises(UsageError, match="names a board twice"):
        replace(SPACE, boards=(*BOARDS, BOARDS[0]))
    with pytest.raises(InputError, match="are the same file"):
        replace(SPACE, models=("a", "a"))


def test_no_feasible_candidate_is_an_error(expected: Exploration) -> None:
    nowhere = replace(
        expected, n_candidates=1, outcomes=(Outcome(SetCandidate("m", 8, 0, ("b",)), why_not="too large"),)
    )
    with pytest.raises(CheckFailedError, match="none of 1 candidates is feasible; the last one: too large"):
        nowhere.check()
    expected.check()
    assert json.loads(json.dumps(exploration_json(expected)))["candidates"] == N_CANDIDATES


def test_functions_of_layers_need_no_names_in_worker_processes(tmp_path: Path) -> None:
    """What an import makes of a function is a lambda, which pickle does not take."""
    net = NetworkBuilder("functions", Shape(4, 4, 4)).conv(8).tanh()
    *layers, last = net.graph().layers
    assert isinstance(last, Lookup)
    graph = replace(net.graph(), layers=(*layers, replace(last, function=lambda x: np.tanh(x) / 2)), sha256="3" * 64)
    space = replace(SPACE, models=(graph.sha256,), max_boards=1, bits=(8,))
    request = replace(REQUEST, graphs=(graph,), space=space)
    here, there = (
        explore(request, tmp_path / name, workers, lambda *_: None)
        for name, workers in (("here", InThisProcess()), ("there", LocalProcesses(1)))
    )
    assert here.outcomes == there.outcomes
