"""Tables of rankings, and lines on the break-even of baud rates."""

from collections import Counter
from collections.abc import Iterator

from rich.console import Console

from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MILLI, MS
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import EvaluatedSplit
from tinysplit.explore.exploration import Exploration
from tinysplit.explore.goal import Ranked, RankingGoal
from tinysplit.explore.ranking import RankedSet, Ranking
from tinysplit.explore.sweep import BreakEven, Sweep

BETTER = {
    Ranked.LATENCY: "are faster",
    Ranked.THROUGHPUT: "have a shorter period",
    Ranked.ENERGY: "need less energy",
}


def print_ranking(title: str, ranking: Ranking, sweep: Sweep | None, goal: RankingGoal, console: Console) -> None:
    """Print the best sets, what the phases found, and the sweep."""
    none = "no set found so far" if ranking.n_open else "no feasible set"
    best = f"the best {counted(len(ranking.best), 'set')} by {goal.ranked_by} (simulated)"
    heading = f"{best}, {goal.settings.input_source.text}" if ranking.best else none
    console.print(f"\n{title}: {heading}", highlight=False)
    if ranking.best:
        price = "price" if goal.prices else "count"
        numbers = ("baud", "I ms", "period\nms", "mJ", "mW", price, "phase\n1")
        table = plain_table("", "boards", "layers", numbers=numbers)
        for place, ranked in enumerate(ranking.best, 1):
            table.add_row(str(place), *_cells(ranked, goal))
        console.print(table)
    for line in ranking.lines():
        console.print(line, highlight=False, soft_wrap=True)
    if sweep:
        _print_sweep(title, sweep, goal, console)


def _cells(ranked: RankedSet, goal: RankingGoal) -> Iterator[str]:
    candidate, figures = ranked.candidate, ranked.simulated
    yield " + ".join(candidate.boards)
    yield layer_counts(candidate, ranked.point)
    yield str(candidate.baud or "-")
    yield f"{figures.latency_s * MS:.2f}"
    yield f"{figures.period_s * MS:.2f}"
    yield f"{figures.energy_j * MILLI:.3f}" if goal.has_energy else "-"
    yield f"{figures.power_w(goal.settings.frame_period_s) * MILLI:.2f}" if goal.has_energy else "-"
    yield f"{goal.price(candidate.boards):g}"
    yield str(ranked.phase_1_rank)


def layer_counts(candidate: SetCandidate, point: EvaluatedSplit) -> str:
    """Return how many layers each board runs, as "3 + 4"; of copies and of divided layers, only that they are."""
    if point.division:
        return "divided"
    if point.copies:
        return counted(len(point.copies), "copy", "copies")
    counts = Counter(point.assignment)
    return " + ".join(str(counts[device]) for device in range(len(candidate.boards)))


def print_bit_widths(exploration: Exploration, console: Console) -> None:
    """Print for each network what its best set takes in more bits, beside the fewest that were tried."""
    goal = exploration.request.goal
    widths = sorted(exploration.request.space.bits)
    unit = _unit(goal)
    for graph in exploration.request.graphs if goal.ranked_by is not Ranked.PRICE else ():
        rankings = [(bits, exploration.rankings.get((graph.sha256, bits))) for bits in widths]
        values = [(bits, _value(ranking.best[0], goal)) for bits, ranking in rankings if ranking and ranking.best]
        for bits, value in values[1:]:
            fewest, least = values[0]
            console.print(
                f"\n{graph.name}: {least:.2f} {unit} in {fewest} bits, {value:.2f} {unit} in {bits} bits: "
                f"{value / least:.2f} times",
                highlight=False,
                soft_wrap=True,
            )


def _print_sweep(title: str, sweep: Sweep, goal: RankingGoal, console: Console) -> None:
    console.print(f"\n{title}: the best set by number of boards and baud rate (simulated)", highlight=False)
    table = plain_table("boards", numbers=("count", "baud", _heading(goal)))
    for cell in sweep.cells:
        boards = " + ".join(cell.best.candidate.boards) if cell.best else "none is feasible"
        table.add_row(
            boards, str(cell.n_boards), str(cell.baud or "-"), f"{_value(cell.best, goal):.2f}" if cell.best else ""
        )
    console.print(table)
    for break_even in sweep.break_evens:
        console.print(_line(break_even, sweep, goal), highlight=False, soft_wrap=True)


def _heading(goal: RankingGoal) -> str:
    return {Ranked.LATENCY: "I ms", Ranked.THROUGHPUT: "period ms"}.get(goal.ranked_by or Ranked.LATENCY, "mJ")


def _value(ranked: RankedSet, goal: RankingGoal) -> float:
    """Return the value of the objective in ms or mJ."""
    return MILLI * goal.value(ranked.simulated)


def _line(break_even: BreakEven, sweep: Sweep, goal: RankingGoal) -> str:
    """Return "from 460 800 baud on, 2 boards (...) are faster than fewer (...)", or that they never are."""
    better = BETTER[goal.ranked_by or Ranked.LATENCY]
    several = f"{break_even.n_boards} boards"
    fewer = "one" if break_even.n_boards == 2 else "fewer"  # noqa: PLR2004 (a pair)
    if break_even.best is None:
        return f"no set of {several} is feasible at {_grouped(sweep.bauds[-1])} baud"
    if break_even.fewer is None:
        return f"only sets of {several} or more are feasible, from {_grouped(break_even.baud or 0)} baud on"
    ends = (_named(break_even.best, goal), _named(break_even.fewer, goal))
    if break_even.baud is None:
        last = _grouped(sweep.bauds[-1])
        return f"up to {last} baud, no {several} {better} than {fewer}: {ends[0]}, against {ends[1]}"
    at = "already at" if break_even.baud == sweep.bauds[0] else "from"
    return f"{at} {_grouped(break_even.baud)} baud, {several} ({ends[0]}) {better} than {fewer} ({ends[1]})"


def _named(ranked: RankedSet, goal: RankingGoal) -> str:
    return f"{' + '.join(ranked.candidate.boards)}, {_value(ranked, goal):.2f} {_unit(goal)}"


def _unit(goal: RankingGoal) -> str:
    return "mJ" if goal.ranked_by is Ranked.ENERGY else "ms"


def _grouped(baud: int) -> str:
    return f"{baud:,}".replace(",", " ")
