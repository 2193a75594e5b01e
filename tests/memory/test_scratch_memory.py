"""The scratch memory of kernels, however small, is part of the arena: sums by hand."""

from itertools import pairwise

import numpy as np
import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Optimize
from tinysplit.kernels.armv6m.packed import Packed
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.kernels.direct import Direct
from tinysplit.memory.layout import BufferId, layer_ram_bytes
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Dense, Shape

G0 = load_board("nucleo_g071rb")


def two_layers(inputs: int) -> Graph:
    """Return two fully connected layers, the first with the given number of inputs and 8 outputs."""
    sizes = ((inputs, 8), (8, 4))
    return Graph.of_layers(
        "n",
        [
            Dense(
                name=f"fc{number}",
                inputs=(f"v{number}",),
                output=f"v{number + 1}",
                in_shape=Shape(1, 1, size),
                weights=np.ones((outputs, size), np.float32),
                bias=np.zeros(outputs, np.float32),
            )
            for number, (size, outputs) in enumerate(sizes)
        ],
    )


@pytest.mark.parametrize("inputs", [8, 16, 64, 96])
def test_a_copy_of_the_input_lies_beside_input_and_output(inputs: int) -> None:
    graph = two_layers(inputs)
    widths = BitWidths.all(graph, 8)
    assert layer_ram_bytes(graph, 0, 8, Packed()) == inputs + 8 + inputs  # input, output, copy
    assert layer_ram_bytes(graph, 0, 8, Direct()) == inputs + 8
    steps = [PlanStep(StepKind.RUN, number, number) for number in range(2)]
    memory = plan_memory(shipped_table(), graph, widths, G0, steps, 1 << 20, Optimize.CYCLES)
    assert [memory.kernels[number].name for number in range(2)] == ["packed", "packed"]
    assert memory.arena.size_bytes == inputs + 8 + inputs
    places = {BufferId(0, is_scratch=True): inputs, BufferId(-1): inputs, BufferId(0): 8}
    taken = sorted((memory.arena.offsets[place], size) for place, size in places.items())
    assert all(offset + size <= after for (offset, size), (after, _) in pairwise(taken))
    assert BufferId(1, is_scratch=True) in memory.arena.offsets
