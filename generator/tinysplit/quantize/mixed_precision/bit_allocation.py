"""`--bits auto`: 8 bits wherever they do, 16 where accuracy needs them, at least time.

Every value and every layer's weights are short at first. Each is measured alone: the noise that its 8 bits add to a
network that has 16 elsewhere. While the network is not good enough, the one with most noise for the time that 16 bits
take, of those that fit the boards, becomes long; at the end, each that turns out not to be needed is short again, the
least noisy first. Nothing is random, so the same model and samples give the same widths.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tinysplit.boards.board import Board
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.network.bit_widths import LONG, SHORT, BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.accuracy import Fidelity, FloatScores
from tinysplit.quantize.calibrate import Quantizer
from tinysplit.quantize.mixed_precision.bit_costs import WidthCosts
from tinysplit.quantize.statistics import Statistics
from tinysplit.split.problem import Assignment

TOLERANCE = 1e-9  # of points and decibels
LEAST_S = 1e-8  # so that what costs nothing comes by its noise


@dataclass(frozen=True)
class Goal:
    """How good a network has to be: points of accuracy that may be lost; without labels, dB that have to stay."""

    max_drop: float = 0.5
    min_snr_db: float = 25.0

    def accepts(self, fidelity: Fidelity) -> bool:
        """Whether accuracy (or noise, without labels) is within the limit."""
        if fidelity.drop_points is None:
            return fidelity.snr_db >= self.min_snr_db - TOLERANCE
        return fidelity.drop_points <= self.max_drop + TOLERANCE


@dataclass(frozen=True)
class Limits:
    """What a network in fixed point has to keep, and the boards and the split that it has to fit.

    `assignment` has the board of each layer, counted from 0; where it is empty, the first board runs all.
    """

    goal: Goal
    boards: tuple[Board, ...]
    settings: CostSettings = field(default_factory=CostSettings)
    assignment: Assignment = ()

    def costs(self, graph: Graph) -> WidthCosts:
        """Return what widths cost there."""
        return WidthCosts(graph, self.boards, self.settings, self.assignment or (0,) * len(graph.layers))


class Part(NamedTuple):
    """What gets a width of its own: a value, or the weights of the layer with this output."""

    name: str
    is_weights: bool

    def __str__(self) -> str:
        return f"weights of {self.name}" if self.is_weights else self.name


@dataclass(frozen=True)
class Choice:
    """A part's width, what its 8 bits alone leave of the signal, and the time that 16 bits of it alone cost."""

    part: Part
    bits: int
    snr_db: float
    extra_s: float


@dataclass(frozen=True, eq=False)
class AutoWidths:
    """The result, and why."""

    quantized: QuantizedGraph
    fidelity: Fidelity
    choices: tuple[Choice, ...]
    seconds: float


def choose_widths(
    graph: Graph,
    statistics: Mapping[str, Statistics],
    floats: FloatScores,
    limits: Limits,
) -> AutoWidths:
    """Return the network with the widths that are fast and good enough; CheckFailedError when none are."""
    quantizer = Quantizer(graph, statistics, floats.samples.x)
    search = _Search(graph, quantizer, floats, limits.goal, limits.costs(graph))
    widths = BitWidths.all(graph, SHORT)
    parts = list(search.parts())
    if search.accepts(widths):
        return search.result(widths, ())
    alone = {part: _snr_alone(search, part) for part in parts}
    longer: list[Part] = []
    while not search.accepts(widths):
        short = [part for part in parts if part not in longer]
        short.sort(key=lambda part: -_worth(search, widths, part, alone[part]))
        best = next((part for part in short if search.costs.fits(search.longer(widths, part))), None)
        if best is None:
            raise CheckFailedError(search.refusal(widths))
        longer.append(best)
        widths = search.longer(widths, best)
    for part in sorted(longer, key=lambda part: -alone[part]):
        shorter = search.with_bits(widths, part, SHORT)
        if search.accepts(shorter) and search.costs.fits(shorter):
            widths = shorter
    short_everywhere = BitWidths.all(graph, SHORT)
    base = search.costs.seconds(short_everywhere)
    choices = (
        Choice(
            part,
            search.bits(widths, part),
            alone[part],
            search.costs.seconds(search.longer(short_everywhere, part)) - base,
        )
        for part in parts
    )
    return search.result(widths, tuple(choices))


def _snr_alone(search: "_Search", part: Part) -> float:
    alone = search.with_bits(BitWidths.all(search.graph, LONG), part, SHORT)
    return Fidelity.of(search.quantizer.nearest(alone), search.floats).snr_db


def _worth(search: "_Search", widths: BitWidths, part: Part, snr_db: float) -> float:
    """Return the noise that 16 bits take away for each second that they cost."""
    extra_s = search.costs.seconds(search.longer(widths, part)) - search.costs.seconds(widths)
    return float(10 ** (-snr_db / 10) / max(extra_s, LEAST_S))


@dataclass(frozen=True, eq=False)
class _Search:
    graph: Graph
    quantizer: Quantizer
    floats: FloatScores
    goal: Goal
    costs: WidthCosts

    def parts(self) -> Iterator[Part]:
        """Yield what can have a width of its own, in the order of the layers."""
        yield Part(self.graph.input_name, is_weights=False)
        for layer in self.graph.layers:
            if "weights" in layer.parameters:
                yield Part(layer.output, is_weights=True)
            if not layer.keeps_format:
                yield Part(layer.output, is_weights=False)

    def bits(self, widths: BitWidths, part: Part) -> int:
        return (widths.weights if part.is_weights else widths.values)[part.name]

    def with_bits(self, widths: BitWidths, part: Part, bits: int) -> BitWidths:
        if part.is_weights:
            return widths.with_weights(part.name, bits)
        return widths.with_value(self.graph, part.name, bits)

    def longer(self, widths: BitWidths, part: Part) -> BitWidths:
        return self.with_bits(widths, part, LONG)

    def fidelity(self, widths: BitWidths) -> Fidelity:
        return Fidelity.of(self.quantizer.best(widths), self.floats)

    def accepts(self, widths: BitWidths) -> bool:
        return self.goal.accepts(self.fidelity(widths))

    def result(self, widths: BitWidths, choices: tuple[Choice, ...]) -> AutoWidths:
        quantized = self.quantizer.best(widths)
        return AutoWidths(quantized, Fidelity.of(quantized, self.floats), choices, self.costs.seconds(widths))

    def refusal(self, widths: BitWidths) -> str:
        fidelity = self.fidelity(widths)
        reached = (
            f"{fidelity.snr_db:.1f} dB" if fidelity.drop_points is None else f"{fidelity.drop_points:.2f} points lost"
        )
        return f"no widths within flash and RAM are good enough: {reached} with 16 bits wherever they fit"
