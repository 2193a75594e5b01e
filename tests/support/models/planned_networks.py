"""Plans of small networks on boards whose costs do not matter: a chain of dense layers, and two branches."""

import itertools

import numpy as np

from tinysplit.boards.catalog import load_board
from tinysplit.costs.link_options import LinkSettings
from tinysplit.memory.schedule import StepKind
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import Add, Dense, Layer, Shape
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.split.problem import DeviceLimits, LayerCosts, Problem
from tinysplit.timing.topology import Cut

WIDTHS = (10, 7, 33, 5, 6)  # tensors of a chain of four dense layers
RUN, SEND, RECEIVE = StepKind.RUN, StepKind.SEND, StepKind.RECEIVE
LINKS = LinkSettings(115200)
G0, F4 = load_board("nucleo_g071rb"), load_board("nucleo_f401re")


def dense(name: str, source: str, inputs: int, outputs: int) -> Dense:
    weights, bias = np.zeros((outputs, inputs), np.float32), np.zeros(outputs, np.float32)
    return Dense(name=name, inputs=(source,), output=name, in_shape=Shape(1, 1, inputs), weights=weights, bias=bias)


def chain() -> Graph:
    widths = list(itertools.pairwise(WIDTHS))
    return Graph.of_layers("chain", [dense(f"t{i + 1}", f"t{i}", *ends) for i, ends in enumerate(widths)])


def diamond() -> Graph:
    """Two branches of 12 values, of which one also reads the network's input, added."""
    shape = Shape(1, 1, 12)
    both: Layer = Add(name="y", inputs=("a", "b"), output="y", in_shape=shape, other_shapes=(shape,), signs=(1, 1))
    return Graph.of_layers("diamond", [dense("s", "x", 8, 12), dense("a", "s", 12, 12), dense("b", "x", 8, 12), both])


def problem(graph: Graph, n_devices: int, ram_bytes: int = 10_000) -> Problem:
    layers = tuple(
        LayerCosts.alike(layer.name, 1, 1, layer.out_shape.size, (1.0,) * n_devices, inputs)
        for layer, inputs in zip(graph.layers, graph.predecessors, strict=True)
    )
    devices = tuple(DeviceLimits(f"d{i}", 100, ram_bytes) for i in range(n_devices))
    table = tuple(tuple(0.0 if a == b else 0.5 for b in range(n_devices)) for a in range(n_devices))
    return Problem(layers, devices, (table,) * len(layers), input_bytes=graph.size(NETWORK_INPUT))


def steps(plan: BoardPlan) -> list[tuple[StepKind, int]]:
    return [(step.kind, step.item) for step in plan.steps]


def hops(plan: Plan) -> list[Cut]:
    return [each.cut for each in plan.cuts]
