"""The answers of an exploration as JSON: in seconds, joules, watts and the unit of the prices."""

from typing import Any

from tinysplit.boards.less_sure import less_sure_json
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import EvaluatedSplit
from tinysplit.explore.exploration import Exploration
from tinysplit.explore.figures import Figures
from tinysplit.explore.front import FrontEntry
from tinysplit.explore.goal import RankingGoal
from tinysplit.explore.largest import Largest
from tinysplit.explore.ranking import RankedSet
from tinysplit.network.graph import Graph


def exploration_json(exploration: Exploration) -> dict[str, Any]:
    """Return fronts or rankings by network and bit width, and the largest networks if they were asked for."""
    goal = exploration.request.goal
    return {
        "candidates": exploration.n_candidates,
        "solved": len(exploration.outcomes),
        "infeasible": sum(not outcome.points for outcome in exploration.outcomes),
        "incomplete": sum(not outcome.complete for outcome in exploration.outcomes),
        "stopped": exploration.stopped.value if exploration.stopped else None,
        "input_source": goal.settings.input_source,
        "price_unit": "as given" if goal.prices else "boards",
        **less_sure_json(exploration.request.space.boards),
        **(_rankings(exploration) if goal.ranked_by else _fronts(exploration)),
        **({"largest": [_largest(each) for each in exploration.largest]} if exploration.request.asks_largest else {}),
    }


def _fronts(exploration: Exploration) -> dict[str, Any]:
    goal = exploration.request.goal
    fronts = [
        {
            "model": _model(graph),
            "bits": bits,
            "points": [_entry(entry, goal) for entry in exploration.front(graph, bits)],
        }
        for graph, bits in exploration.groups
    ]
    return {"axes": [axis.value for axis in exploration.request.axes], "fronts": fronts}


def _rankings(exploration: Exploration) -> dict[str, Any]:
    goal = exploration.request.goal
    rankings = []
    for graph, bits in exploration.groups:
        group = graph.sha256, bits
        ranking, sweep = exploration.rankings.get(group), exploration.sweeps.get(group)
        if ranking:
            best = [_ranked(each, goal) for each in ranking.best]
            more = {"best": best, "phases": ranking.to_json(), "sweep": sweep.to_json() if sweep else None}
            rankings.append({"model": _model(graph), "bits": bits, **more})
    return {"objective": goal.ranked_by, "rankings": rankings}


def _model(graph: Graph) -> dict[str, Any]:
    return {"name": graph.name, "sha256": graph.sha256}


def _entry(entry: FrontEntry, goal: RankingGoal) -> dict[str, Any]:
    figures = _figures(entry.point, entry.power_w, goal)
    return {
        **_set(entry.candidate, entry.price),
        **figures,
        **_split(entry.point),
    }


def _ranked(ranked: RankedSet, goal: RankingGoal) -> dict[str, Any]:
    frame_period_s = goal.settings.frame_period_s
    point = ranked.point
    return {
        **_set(ranked.candidate, goal.price(ranked.candidate.boards)),
        **_figures(ranked.simulated, ranked.simulated.power_w(frame_period_s), goal),
        "analytical": _figures(point, point.power_w(frame_period_s), goal),
        "phase_1_rank": ranked.phase_1_rank,
        **_split(point),
    }


def _largest(largest: Largest) -> dict[str, Any]:
    data: dict[str, Any] = {"bits": largest.bits, "boards": list(largest.boards), "model": None}
    if largest.graph and largest.candidate and largest.point:
        data["model"] = {**_model(largest.graph), "macc": largest.graph.macc}
        data |= {"baud": largest.candidate.baud or None, "latency_s": largest.point.latency_s}
    return data


def _set(candidate: SetCandidate, price: float) -> dict[str, Any]:
    return {"boards": list(candidate.boards), "baud": candidate.baud or None, "price": price}


def _figures(figures: Figures, power_w: float, goal: RankingGoal) -> dict[str, float | None]:
    return {
        "latency_s": figures.latency_s,
        "energy_j": figures.energy_j if goal.has_energy else None,
        "period_s": figures.period_s,
        "power_w": power_w if goal.has_energy else None,
    }


def _split(point: EvaluatedSplit) -> dict[str, Any]:
    return {
        "assignment": [] if point.division else [device + 1 for device in point.assignment],
        "copies": [device + 1 for device in point.copies],
        "placement": point.placement,
        "proved": point.proved,
    }
