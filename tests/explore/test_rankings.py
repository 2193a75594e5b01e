"""Rankings in two phases, beside the simulation of every assignment of every set."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import product
from math import inf
from pathlib import Path

import pytest
from rich.console import Console

from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.best_case import best_case, best_case_of_divisions
from tinysplit.explore.candidates import SetCandidate, Space
from tinysplit.explore.evaluate import EvaluatedSplit, Outcome, Solving, Tables, evaluate_candidates
from tinysplit.explore.exploration import Exploration, explore
from tinysplit.explore.figures import Figures
from tinysplit.explore.goal import Ranked, RankingGoal
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.explore.ranking import Ranking
from tinysplit.explore.report.rankings import print_ranking
from tinysplit.explore.report.to_json import exploration_json
from tinysplit.explore.request import ExploreRequest
from tinysplit.explore.simulated import simulated_figures
from tinysplit.explore.stopping import Stopped, TimeIsUpError
from tinysplit.explore.two_phase import TwoPhaseSearch
from tinysplit.explore.workers import Batch
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.slices.choice import SliceRequest
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.explain.reasons import placement_text
from tinysplit.split.problem import Period
from tinysplit.split.solve import solve

NAMES = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l412kb")
BOARDS = tuple(map(load_board, NAMES))
SMALL = replace(
    NetworkBuilder("small", Shape(12, 12, 1)).conv(4, (3, 3)).max_pool(2, 2).dense(4).graph(), sha256="1" * 64
)
LARGE = replace(
    NetworkBuilder("large", Shape(12, 12, 1)).conv(8, (3, 3)).conv(16, (3, 3)).max_pool(2, 2).dense(10).graph(),
    sha256="2" * 64,
)
SPACE = Space((LARGE.sha256,), BOARDS, 2, (1_000_000,), (8,))
SETTINGS = CostSettings()


class InThisProcess:
    """Does the work itself; `solved` are the candidates in their order. May raise an error after some batches."""

    def __init__(self, stop: BaseException | None = None, after: int = 0) -> None:
        self.solved: list[SetCandidate] = []
        self.stop, self.after = stop, after

    def run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        for batch in batches:
            if self.stop and len(self.solved) >= self.after:
                raise self.stop
            self.solved += batch
            yield evaluate_candidates(tables, batch, solving)

    def close(self) -> None:
        pass


def ask(journal: Path, request: ExploreRequest, workers: InThisProcess | None = None) -> Exploration:
    return explore(request, journal, workers or InThisProcess(), lambda _done, _all: None)


def request_of(ranked_by: Ranked | None, settings: CostSettings = SETTINGS, **more: object) -> ExploreRequest:
    goal = RankingGoal(settings, ranked_by)
    return ExploreRequest(shipped_table(), (LARGE,), SPACE, goal, **{"slices": Slices.NONE, **more})  # type: ignore[arg-type]


@cache
def every_split(objective: Ranked) -> dict[SetCandidate, dict[tuple[int, ...], Figures]]:
    """Return the simulated figures of all feasible assignments of all sets; for throughput, of copies without one."""
    settings = replace(SETTINGS, objective=objective.objective)
    tables = {
        baud: ProblemTable.of(shipped_table(), LARGE, BOARDS, replace(settings, baud=baud or settings.baud))
        for baud in (0, 1_000_000)
    }
    found: dict[SetCandidate, dict[tuple[int, ...], Figures]] = {}
    for candidate in SPACE.candidates():
        problem = tables[candidate.baud].problem_of(candidate.boards)
        for assignment in product(range(len(candidate.boards)), repeat=len(problem.layers)):
            if evaluate(problem, assignment).is_feasible:
                found.setdefault(candidate, {})[assignment] = simulated_figures(problem, assignment)
        boards = range(len(candidate.boards))
        free = replace(problem, must_use_all=False)
        alone = [evaluate(free, (board,) * len(problem.layers)) for board in boards]
        if objective is Ranked.THROUGHPUT and len(boards) > 1 and all(each.is_feasible for each in alone):
            found.setdefault(candidate, {})[()] = simulated_figures(problem, alone[0].assignment, boards)
    return found


def test_copies_are_ranked_as_split_takes_them(tmp_path: Path) -> None:
    """Two boards with a copy each have twice the rate of one."""
    ranking = ask(tmp_path / "journal.jsonl", request_of(Ranked.THROUGHPUT)).rankings[LARGE.sha256, 8]
    alone = {each.candidate.boards: each.simulated for each in ranking.best if len(each.candidate.boards) == 1}
    first = ranking.best[0]
    assert first.point.copies == (0, 1)
    rates = [1 / alone[(name,)].period_s for name in first.candidate.boards]
    assert first.simulated.period_s == pytest.approx(1 / sum(rates))
    out = StringIO()
    print_ranking("copies", ranking, None, request_of(Ranked.THROUGHPUT).goal, Console(file=out, width=200))
    assert "2 copies" in out.getvalue()


@pytest.mark.parametrize("ranked_by", [Ranked.THROUGHPUT, Ranked.ENERGY])
def test_the_best_sets_are_those_of_all_simulations(ranked_by: Ranked, tmp_path: Path) -> None:
    request = request_of(ranked_by, n_best=4)
    found = ask(tmp_path / "journal.jsonl", request)
    goal, ranking = request.goal, found.rankings[LARGE.sha256, 8]
    least = sorted(
        (min(goal.key(figures, candidate.boards) for figures in splits.values()), candidate)
        for candidate, splits in every_split(ranked_by).items()
    )
    best = [(goal.key(each.simulated, each.candidate.boards)[:2]) for each in ranking.best]
    assert best == [key[:2] for key, _ in least[:4]]
    best_set, point = ranking.best[0], ranking.best[0].point
    key = () if point.copies else point.assignment
    assert best_set.simulated == every_split(ranked_by)[best_set.candidate][key]
    assert (ranking.n_open, ranking.n_sets) == (0, 9)


Sets = dict[str, tuple[float, float, float]]  # bound, by the model, simulated


class Known:
    """An evaluator with made-up bounds, splits and simulated latencies by the name of the only board."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.rounds: list[tuple[str, ...]] = []
        self.done: set[SetCandidate] = set()

    def bound(self, candidate: SetCandidate) -> Figures:
        return Figures(self.sets[candidate.boards[0]][0], 0.0, 0.0)

    def is_solved(self, candidate: SetCandidate) -> bool:
        return candidate in self.done

    def solve(self, candidates: Sequence[SetCandidate]) -> None:
        self.rounds.append(tuple(each.boards[0] for each in candidates))
        self.done |= set(candidates)

    def outcome(self, candidate: SetCandidate) -> Outcome:
        model_s = self.sets[candidate.boards[0]][1]
        return Outcome(candidate, (EvaluatedSplit(model_s, 0.0, 0.0, (0,), proved=True),) if model_s < inf else ())

    def simulated(self, candidate: SetCandidate, _point: EvaluatedSplit) -> Figures:
        return Figures(self.sets[candidate.boards[0]][2], 0.0, 0.0)


def searched(
    sets: dict[str, tuple[float, float, float]], n_best: int, n_kept: int, **limits: float
) -> tuple[Known, Ranking]:
    known = Known(sets)
    candidates = [SetCandidate("m", 8, 0, (name,)) for name in sets]
    goal = RankingGoal(replace(SETTINGS, **limits), Ranked.LATENCY)  # type: ignore[arg-type]
    search = TwoPhaseSearch(known, goal, candidates, n_best, n_kept)  # type: ignore[arg-type]
    search.run()
    return known, search.ranking()


def names(ranking: Ranking) -> list[str]:
    return [each.candidate.boards[0] for each in ranking.best]


def test_sets_are_opened_again_while_they_may_be_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinysplit.explore.two_phase.FIRST_SETS", 2)
    # a and b are solved and a is kept; simulated, it is so bad that c has to be opened, which is better than d may be.
    # e fits nowhere.
    sets = {
        "a": (1.0, 2.0, 5.0),
        "b": (1.5, 3.0, 4.5),
        "c": (2.5, 3.0, 2.6),
        "d": (2.7, 2.8, 2.9),
        "e": (inf, inf, inf),
    }
    known, ranking = searched(sets, n_best=1, n_kept=1)
    assert known.rounds == [("a", "b"), ("b",), ("c",)]
    assert names(ranking) == ["c"]
    assert (ranking.n_sets, ranking.n_ruled_out, ranking.n_solved, ranking.n_pruned, ranking.n_open) == (5, 1, 3, 1, 0)
    assert (ranking.phase_1_ranks, ranking.is_best_changed, ranking.n_moved) == ((2, 3, 1), True, 1)
    assert ranking.rounds == 3
    assert ranking.rank_correlation == pytest.approx(-1 / 3)
    assert "1 pruned" in ranking.lines()[0]
    assert "the best one changed, rank correlation -0.33" in ranking.lines()[1]


def test_limits_hold_for_simulated_figures() -> None:
    sets = {"a": (1.0, 2.0, 3.1), "b": (2.0, 2.5, 2.9), "c": (3.2, 3.2, 3.2)}
    _, ranking = searched(sets, n_best=3, n_kept=50, max_latency_s=3.0)
    assert names(ranking) == ["b"]
    assert (ranking.n_ruled_out, ranking.n_infeasible) == (1, 0)  # c, by its bound


def test_what_is_equal_in_three_digits_has_the_order_of_prices() -> None:
    goal = RankingGoal(SETTINGS, Ranked.LATENCY)
    one, two = goal.key(Figures(1.0009, 1, 1), ("a",)), goal.key(Figures(1.0001, 1, 1), ("a", "b"))
    assert one < two < goal.key(Figures(1.0051, 1, 1), ("a",))
    cheap = RankingGoal(SETTINGS, Ranked.PRICE, {"a": 3.0, "b": 1.0})
    assert cheap.key(Figures(9.0, 1, 1), ("b", "b")) < cheap.key(Figures(1.0, 1, 1), ("a",))
    assert cheap.key(Figures(1.0, 1, 1), ("b", "b")) < cheap.key(Figures(9.0, 1, 1), ("b", "b"))


def test_interrupted_rankings_have_what_is_solved(tmp_path: Path) -> None:
    journal, request = tmp_path / "journal.jsonl", request_of(Ranked.LATENCY)
    first = ask(journal, request, InThisProcess(KeyboardInterrupt(), after=4))
    ranking = first.rankings[LARGE.sha256, 8]
    assert first.stopped is Stopped.INTERRUPTED
    assert (ranking.n_solved, len(ranking.best)) == (4, 4)
    assert f"{ranking.n_open} sets that may be better were not simulated" in ranking.lines()
    second = ask(journal, request, InThisProcess(TimeIsUpError(), after=2))
    assert (second.stopped, second.rankings[LARGE.sha256, 8].n_solved) == (Stopped.OUT_OF_TIME, 6)
    last = ask(journal, request, workers := InThisProcess())
    assert (last.stopped, len(workers.solved)) == (None, 3)
    assert [each.phase_1_rank for each in last.rankings[LARGE.sha256, 8].best] == list(range(1, 10))


def test_bounds_of_sets_hold_for_what_is_ranked(tmp_path: Path) -> None:
    table = ProblemTable.of(shipped_table(), LARGE, BOARDS, replace(SETTINGS, baud=1_000_000))
    for ranked in ask(tmp_path / "journal.jsonl", request_of(Ranked.LATENCY)).rankings[LARGE.sha256, 8].best:
        if ranked.candidate.baud:
            bound = best_case(table.problem_of(ranked.candidate.boards))
            assert 0.8 * ranked.simulated.latency_s < bound.latency_s <= ranked.simulated.latency_s


@pytest.mark.parametrize("ranked_by", [Ranked.LATENCY, Ranked.PRICE])
def test_divided_layers_are_ranked_as_split_takes_them(ranked_by: Ranked, tmp_path: Path) -> None:
    """Ranked by price, they make two boards fast enough that whole layers leave too slow."""
    board, rate = BOARDS[0], 4_000_000
    settings = CostSettings(baud=rate, use_all=True)
    request = SliceRequest(
        *(shipped_table(), LARGE, (board, board), settings, BitWidths.of(LARGE, 8), None, None, (None, None), 10.0)
    )
    problem = make_problem(shipped_table(), LARGE, (board, board), settings)
    quiet = Console(quiet=True)
    split = request.best(lambda limit_s: solve(problem, time_limit_s=limit_s), lambda found: found, quiet)
    assert split.distributions
    space = replace(SPACE, boards=(board,), bauds=(rate,))
    limited = replace(SETTINGS, max_latency_s=1.01 * split.i_s if ranked_by is Ranked.PRICE else inf)
    asked = replace(request_of(ranked_by, limited, slices=None), space=space)
    found = ask(tmp_path / "journal.jsonl", asked)
    best, *others = found.rankings[LARGE.sha256, 8].best
    assert best.candidate.boards == (board.name, board.name)
    assert best.simulated.latency_s == pytest.approx(split.i_s)
    assert best.point.placement == placement_text(split.placement)
    assert bool(others) == (ranked_by is Ranked.LATENCY)
    table = ProblemTable.of(shipped_table(), LARGE, (board,), settings)
    assert best_case_of_divisions(table.problem_of(best.candidate.boards)).latency_s <= best.simulated.latency_s
    out = StringIO()
    print_ranking("divided", found.rankings[LARGE.sha256, 8], None, asked.goal, Console(file=out, width=200))
    assert "divided" in out.getvalue()


def test_break_even_is_found_between_the_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of pipelines: copies are better than one board at any rate."""
    monkeypatch.setattr("tinysplit.explore.evaluate.replicate", lambda _problem: None)
    space = replace(SPACE, boards=BOARDS[:1], bauds=(4_000_000, 9_600))
    request = replace(request_of(Ranked.THROUGHPUT), space=space)
    found = ask(tmp_path / "journal.jsonl", request)
    sweep = found.sweeps[LARGE.sha256, 8]
    assert sweep.bauds == (9_600, 4_000_000)
    (even,) = sweep.break_evens
    assert even.best
    assert even.fewer
    assert even.baud == 1_000_000

    def period_s(baud: int) -> float:
        rates = replace(request, space=replace(space, bauds=(baud,)))
        best = ask(tmp_path / f"{baud}.jsonl", rates).rankings[LARGE.sha256, 8].best
        return min(each.simulated.period_s for each in best if each.candidate.baud)

    assert period_s(1_000_000) == even.best.simulated.period_s < even.fewer.simulated.period_s
    assert period_s(460_800) >= even.fewer.simulated.period_s  # the standard rate below
    data = exploration_json(found)["rankings"][0]["sweep"]
    assert data["break_even"][0]["from_baud"] == even.baud
    assert [(each["n_boards"], each["baud"]) for each in data["best"]] == [(1, None), (2, 9_600), (2, 4_000_000)]


def test_the_largest_network_of_each_set(tmp_path: Path) -> None:
    models = (SMALL.sha256, LARGE.sha256)
    space = replace(SPACE, models=models, boards=BOARDS[:2])
    request = ExploreRequest(
        shipped_table(), (SMALL, LARGE), space, RankingGoal(SETTINGS, Ranked.LATENCY), asks_largest=True
    )
    every = {each.boards: each for each in ask(tmp_path / "free.jsonl", request).largest}
    assert {each.graph for each in every.values()} == {LARGE}
    slow = every["nucleo_g071rb",]
    assert slow.point
    limit = RankingGoal(replace(SETTINGS, max_latency_s=0.9 * slow.point.latency_s), Ranked.LATENCY)
    limited = {each.boards: each.graph for each in ask(tmp_path / "limit.jsonl", replace(request, goal=limit)).largest}
    assert limited["nucleo_g071rb",] is SMALL
    assert limited["nucleo_f401re",] is LARGE


def test_an_ideal_period_is_not_simulated() -> None:
    with pytest.raises(UsageError, match="--period load: --objective simulates the firmware"):
        request_of(Ranked.LATENCY, replace(SETTINGS, period=Period.LOAD))


def test_nothing_is_feasible(tmp_path: Path) -> None:
    request = request_of(Ranked.ENERGY, replace(SETTINGS, max_latency_s=1e-9))
    found = ask(tmp_path / "journal.jsonl", request, workers := InThisProcess())
    assert not workers.solved  # bounds suffice
    with pytest.raises(CheckFailedError, match="none of 9 candidates is feasible; not even in the best case"):
        found.check()


def test_limits_that_exclude_every_split_are_refused_before_the_search() -> None:
    with pytest.raises(UsageError, match="a maximum latency of 0 s excludes every split"):
        request_of(None, replace(SETTINGS, max_latency_s=0.0))
