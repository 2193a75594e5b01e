"""The steps of a tightening as a table: of one layer, or of a network in a line a step."""

from statistics import fmean
from typing import Any

from rich.table import Table

from tinysplit.common.tables import plain_table
from tinysplit.papers.solvers.geometric.problem import Division
from tinysplit.papers.solvers.geometric.tightening import Tightening


def tightening_table(tightening: Tightening, layer: int = 0) -> Table:
    """Return the steps of one layer: weight, channels of each device, sum of shares, cost of all layers."""
    problem = tightening.problem
    names = [device.name for device in problem.devices]
    table = plain_table(numbers=("step", "alpha", *names, "sum of shares", problem.objective))
    for number, step in enumerate(tightening.steps, 1):
        parts = (f"{part:.2f}" for part in step.division[layer])
        share = tightening.shares(step)[layer]
        weight = step.weights[layer]
        table.add_row(str(number), f"{weight:.5g}", *parts, f"{share:.4f}", f"{step.cost:.5g}")
    rounded = map(str, tightening.channels[layer])
    shares = sum(tightening.channels[layer]) / problem.layers[layer].channels
    table.add_row("rounded", "", *rounded, f"{shares:.4f}", f"{tightening.cost:.5g}")
    return table


def network_table(tightening: Tightening, unit: str) -> Table:
    """Return the steps of all layers: largest weight, sums of shares, least share, cost."""
    problem = tightening.problem
    counts = [layer.channels for layer in problem.layers]
    labels = ("step", "largest alpha", "least sum of shares", "mean sum", "least share", f"{problem.objective}, {unit}")
    table = plain_table(numbers=labels)

    def add(name: str, weight: str, division: Division, cost: float) -> None:
        sums = [sum(parts) / count for parts, count in zip(division, counts, strict=True)]
        least = min(min(parts) / count for parts, count in zip(division, counts, strict=True))
        table.add_row(name, weight, f"{min(sums):.4f}", f"{fmean(sums):.4f}", f"{least:.4f}", f"{cost:.5g}")

    for number, step in enumerate(tightening.steps, 1):
        add(str(number), f"{max(step.weights):.5g}", step.division, step.cost)
    add("rounded", "", tightening.channels, tightening.cost)
    return table


def tightening_json(tightening: Tightening) -> dict[str, Any]:
    """Return the steps, and the parts of each layer as they were rounded, in the unit of the problem's costs."""
    layers = zip(tightening.problem.layers, tightening.channels, strict=True)
    return {
        "steps": [
            {"weights": step.weights, "sums_of_shares": tightening.shares(step), "cost": step.cost}
            for step in tightening.steps
        ],
        "layers": [{"name": layer.name, "size": layer.channels, "parts": parts} for layer, parts in layers],
        "cost": tightening.cost,
    }
