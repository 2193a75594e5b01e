"""Mixed precision: 16 bits only where accuracy requires them, at the least execution time.

A greedy search. Every value and every layer's weights have 8 bits at first. Each is measured alone: the quantization
noise that its 8 bits add to a network that has 16 bits elsewhere. While the accuracy is below the goal, the tensor with
the most noise per second that its 16 bits cost, of those that fit the boards, gets 16 bits. At the end, those that turn
out not to be needed get 8 bits again, the least noisy first. The search is deterministic.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from pydantic import FiniteFloat
from typing_extensions import override

from tinysplit.boards.board import Board
from tinysplit.common.choices import LONG_BITS, SHORT_BITS, USUAL_MAX_DROP, USUAL_MIN_SQNR_DB
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.file_schema import in_range
from tinysplit.common.settings_class import settings_class
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import Accuracy
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.mixed_precision.bit_costs import WidthCosts
from tinysplit.settings.fixed_point import MAX_ACCURACY_DROP, MIN_SQNR
from tinysplit.split.solution import Placement

TOLERANCE = 1e-9  # percentage points and dB
LEAST_S = 1e-8  # lower limit of the added time, so that tensors without cost are ordered by noise


@settings_class
@dataclass(frozen=True)
class Goal:
    """The accuracy to reach: most percentage points of top-1 to lose or, without labels, least SQNR in dB.

    None is the usual limit.
    """

    max_drop: Annotated[float, in_range(MAX_ACCURACY_DROP)] | None = None
    min_sqnr_db: FiniteFloat | None = None

    def check(self, samples: Samples) -> None:
        """Raise UsageError for a limit that does not apply to samples with or without labels."""
        if not samples.labels and self.max_drop is not None:
            raise UsageError(f"{MAX_ACCURACY_DROP} needs calibration samples with labels `y`: give {MIN_SQNR} instead")
        if samples.labels and self.min_sqnr_db is not None:
            raise UsageError(f"{MIN_SQNR} is for calibration samples without labels: give {MAX_ACCURACY_DROP} instead")

    def accepts(self, accuracy: Accuracy) -> bool:
        """Return whether the accuracy (the SQNR, without labels) is within the limit."""
        if accuracy.drop_points is None:
            return accuracy.sqnr_db >= _limit(self.min_sqnr_db, USUAL_MIN_SQNR_DB) - TOLERANCE
        return accuracy.drop_points <= _limit(self.max_drop, USUAL_MAX_DROP) + TOLERANCE


def _limit(chosen: float | None, usual: float) -> float:
    return usual if chosen is None else chosen


@dataclass(frozen=True)
class Limits:
    """The accuracy goal of a network in mixed precision, and the boards and the split that it has to fit.

    Without a `placement`, the first board runs all.
    """

    table: CycleTable
    goal: Goal
    boards: tuple[Board, ...]
    settings: CostSettings = field(default_factory=CostSettings)
    placement: Placement | None = None

    def costs(self, graph: Graph) -> WidthCosts:
        """Return the costs of bit widths on these boards."""
        placement = self.placement or Placement(((0,) * len(graph.layers),))
        return WidthCosts(self.table, graph, self.boards, self.settings, placement)


class TensorName(NamedTuple):
    """A tensor with a bit width of its own: a value, or the weights of the layer with this output."""

    name: str
    is_weights: bool

    @override
    def __str__(self) -> str:
        return f"weights of {self.name}" if self.is_weights else self.name


@dataclass(frozen=True)
class Choice:
    """The bit width of a tensor, the SQNR with 8 bits for it alone, and the time that 16 bits for it alone cost."""

    tensor: TensorName
    bits: int
    sqnr_db: float
    extra_s: float


@dataclass(frozen=True, eq=False)
class MixedPrecision:
    """A network in mixed precision, its accuracy, the choice of every bit width, and the estimated time in seconds.

    `choices` is empty where 8 bits suffice everywhere.
    """

    quantized: QuantizedGraph
    accuracy: Accuracy
    choices: tuple[Choice, ...]
    seconds: float


def allocate_bits(calibration: Calibration, limits: Limits) -> MixedPrecision:
    """Return the network in bit widths that reach the goal and fit the boards.

    Raises CheckFailedError when the search finds none, UsageError for a goal that does not apply to the samples.
    """
    limits.goal.check(calibration.samples)
    graph = calibration.graph
    search = _BitSearch(calibration, limits.goal, limits.costs(graph))
    widths = BitWidths.all(graph, SHORT_BITS)
    parts = list(search.parts())
    if search.accepts(widths):
        return search.result(widths, ())
    alone = {part: _sqnr_alone(search, part) for part in parts}
    longer: list[TensorName] = []
    while not search.accepts(widths):
        extra_s = search.extra_s(widths, [part for part in parts if part not in longer])
        short = sorted(extra_s, key=lambda part: -_worth(alone[part], extra_s[part]))
        best = next((part for part in short if search.costs.fits(search.longer(widths, part))), None)
        if best is None:
            raise CheckFailedError(search.refusal(widths))
        longer.append(best)
        widths = search.longer(widths, best)
    for part in sorted(longer, key=lambda part: -alone[part]):
        shorter = search.with_bits(widths, part, SHORT_BITS)
        if search.accepts(shorter) and search.costs.fits(shorter):
            widths = shorter
    extra_s = search.extra_s(BitWidths.all(graph, SHORT_BITS), parts)
    choices = (Choice(part, search.bits(widths, part), alone[part], extra_s[part]) for part in parts)
    return search.result(widths, tuple(choices))


def _sqnr_alone(search: "_BitSearch", part: TensorName) -> float:
    calibration = search.calibration
    alone = search.with_bits(BitWidths.of(calibration.graph, LONG_BITS), part, SHORT_BITS)
    return Accuracy.of(calibration.nearest(alone), calibration.float_scores).sqnr_db


def _worth(sqnr_db: float, extra_s: float) -> float:
    """Return the quantization noise that 16 bits remove per second that they cost."""
    return float(10 ** (-sqnr_db / 10) / max(extra_s, LEAST_S))


@dataclass(frozen=True, eq=False)
class _BitSearch:
    calibration: Calibration
    goal: Goal
    costs: WidthCosts

    def parts(self) -> Iterator[TensorName]:
        """Yield the tensors that can have a bit width of their own, in the order of the layers."""
        graph = self.calibration.graph
        yield TensorName(graph.input_name, is_weights=False)
        for layer in graph.layers:
            if "weights" in layer.parameters:
                yield TensorName(layer.output, is_weights=True)
            is_free = graph.least_bits(layer.output) == SHORT_BITS
            if is_free and not layer.keeps_format and not layer.keeps_integers:
                yield TensorName(layer.output, is_weights=False)

    def bits(self, widths: BitWidths, part: TensorName) -> int:
        return (widths.weights if part.is_weights else widths.values)[part.name]

    def with_bits(self, widths: BitWidths, part: TensorName, bits: int) -> BitWidths:
        if part.is_weights:
            return widths.with_weights(part.name, bits)
        return widths.with_value(self.calibration.graph, part.name, bits)

    def longer(self, widths: BitWidths, part: TensorName) -> BitWidths:
        return self.with_bits(widths, part, LONG_BITS)

    def extra_s(self, widths: BitWidths, parts: Iterable[TensorName]) -> dict[TensorName, float]:
        """Return for each of the tensors the seconds by which its 16 bits alone make `widths` slower."""
        now_s = self.costs.seconds(widths)
        return {part: self.costs.seconds(self.longer(widths, part)) - now_s for part in parts}

    def accuracy(self, widths: BitWidths) -> Accuracy:
        return Accuracy.of(self.calibration.best(widths), self.calibration.float_scores)

    def accepts(self, widths: BitWidths) -> bool:
        return self.goal.accepts(self.accuracy(widths))

    def result(self, widths: BitWidths, choices: tuple[Choice, ...]) -> MixedPrecision:
        quantized = self.calibration.best(widths)
        accuracy = Accuracy.of(quantized, self.calibration.float_scores)
        return MixedPrecision(quantized, accuracy, choices, self.costs.seconds(widths))

    def refusal(self, widths: BitWidths) -> str:
        accuracy = self.accuracy(widths)
        reached = (
            f"{accuracy.sqnr_db:.1f} dB" if accuracy.drop_points is None else f"{accuracy.drop_points:.2f} points lost"
        )
        return f"no bit widths that fit flash and RAM reach the accuracy goal: {reached} with 16 bits wherever they fit"
