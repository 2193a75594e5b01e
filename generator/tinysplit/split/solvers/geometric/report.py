"""The steps of a tightening as a table."""

from rich.table import Table

from tinysplit.common.tables import plain_table
from tinysplit.split.solvers.geometric.tightening import Tightening


def tightening_table(tightening: Tightening, layer: int = 0) -> Table:
    """Return the steps of one layer: weight, channels of each device, sum of shares, cost of all layers."""
    problem = tightening.problem
    names = [device.name for device in problem.devices]
    table = plain_table(numbers=("step", "alpha", *names, "sum of shares", problem.objective))
    for number, step in enumerate(tightening.steps, 1):
        parts = (f"{part:.2f}" for part in step.division[layer])
        share, weight = tightening.shares(step)[layer], step.weights[layer]
        table.add_row(str(number), f"{weight:.5g}", *parts, f"{share:.4f}", f"{step.cost:.5g}")
    rounded = map(str, tightening.channels[layer])
    shares = sum(tightening.channels[layer]) / problem.layers[layer].channels
    table.add_row("rounded", "", *rounded, f"{shares:.4f}", f"{tightening.cost:.5g}")
    return table
