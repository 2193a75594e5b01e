"""The best placement of a small network on two boards, by enumeration with the figures of the generated programs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

from rich.console import Console

from tinysplit.boards.catalog import load_all
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.pipeline import place, split_network
from tinysplit.slices.settings import Search
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Placement, Split

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
PAIRS = ((G0, G0), (G0, F4), (F4, G0), (F4, F4))
BAUDS = (460_800, 1_000_000, 4_000_000)
BOARDS = range(2)
BITS = 8
N_PLANNED = 15  # placements, best first as searches know them, whose programs are planned
LEAST_CHANNELS = 4  # of a part: what kernels compute at a time


@dataclass(frozen=True)
class SmallCase:
    """A network of two or three layers on two boards."""

    context: Context

    @classmethod
    def of(cls, seed: int) -> "SmallCase":
        """Return a random case."""
        rng = Random(seed)  # noqa: S311 (no secret)
        net = NetworkBuilder(
            f"small {seed}", Shape(rng.choice((4, 5, 6)), rng.choice((8, 16, 32)), rng.choice((8, 16)))
        )
        for _ in range(rng.choice((2, 2, 2, 3))):
            kernel = rng.choice(((1, 1), (1, 1), (3, 3), (3, 3), None))
            net = net.conv(rng.choice((16, 32)), kernel) if kernel else net.depthwise()
        settings = CostSettings(baud=rng.choice(BAUDS), objective=rng.choice(list(Objective)))
        boards = load_all(rng.choice(PAIRS))
        quiet = Console(quiet=True)
        return cls(
            Context(
                model=Path(net.name),
                graph=net.graph(),
                boards=boards,
                table=shipped_table(),
                settings=settings,
                messages=quiet,
            )
        )

    @property
    def title(self) -> str:
        """Layers, boards, rate and objective."""
        kinds = " ".join(str(layer.kind) for layer in self.context.graph.layers)
        settings, boards = self.context.settings, " + ".join(board.name for board in self.context.boards)
        return f"{kinds} on {boards} at {settings.baud} baud, {settings.objective}"

    def found(self) -> Split:
        """Return what the search takes."""
        return split_network(self.context, Search())

    def best_of_all(self) -> float:
        """Return the least objective of all placements with input and output on any board, in seconds or joules."""
        known = sorted(self._known(), key=lambda each: each[0])
        return min(self._value_of(distributions) for _, distributions in known[:N_PLANNED])

    def _known(self) -> Iterator[tuple[float, Distributions]]:
        graph, context = self.context.graph, self.context
        options = [tuple(_options(graph.shape(number))) for number in range(len(graph.layers))]
        for ends in product(BOARDS, BOARDS):
            widths = BitWidths.of(graph, BITS)
            network = SlicedNetwork(context.table, graph, context.boards, context.settings, widths, *ends)
            links = network.linked(tuple(BOARDS))
            for layers in product(*options):
                found = network.evaluated(Distributions(layers, *ends), links)
                if found:
                    yield found.figures.value, found.distributions

    def _value_of(self, how: Distributions) -> float:
        context = self.context
        if all(layer.is_whole for layer in how.layers):
            return place(context, Placement((tuple(layer.owners[0] for layer in how.layers),))).value
        parts = distribute(context.graph, how, len(BOARDS), BitWidths.of(context.graph, BITS))
        return place(context, Placement((parts.boards,), how)).value


def _options(shape: Shape) -> Iterator[Distribution]:
    """Yield a tensor on each board, and divided everywhere between two rows and at half of the channels."""
    yield from (Distribution.whole(shape, board, len(BOARDS)) for board in BOARDS)
    yield from _divided(SliceAxis.ROWS, shape.height, range(1, shape.height))
    half = shape.channels // 2 // LEAST_CHANNELS * LEAST_CHANNELS
    yield from _divided(SliceAxis.CHANNELS, shape.channels, (half,) if half else ())


def _divided(axis: SliceAxis, size: int, borders: Sequence[int]) -> Iterator[Distribution]:
    for border in borders:
        parts = (range(border), range(border, size))
        yield from (Distribution(axis, each) for each in (parts, parts[::-1]))
