"""Free scales and zero points of 8-bit values where they cost cycles: chosen by the noise that they remove.

Sums and concatenations only shift values whose scales are powers of two, and products of values without a zero point
take fewer instructions. What a choice brings follows from the noise that each value adds to the output of a network
that has 16 bits elsewhere: it falls as the mean squared error of the value does in another format. That gives an order.
How much noise the first of them remove together is measured, as errors of several values may add up. What they cost are
the predicted cycles of all layers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from tinysplit.boards.board import Board
from tinysplit.common.choices import USUAL_MAX_TIME_INCREASE
from tinysplit.common.units import PERCENT
from tinysplit.kernels.cost_table import CycleTable, shipped_table
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.kernels.selection import choose
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.read_errors import ReadError
from tinysplit.quantize.statistics import decibels
from tinysplit.quantize.value_scales import NO_FREEDOM, Freedom

USUAL_CORE = "cortex-m4"
USUAL_BOARD = "nucleo_f446re"  # one with that core
DB_PER_PERCENT = 0.35  # of cycles: by how much noise has to fall at least
LEAST_DB = 0.01  # less is not worth a zero point
LEAST_PERCENT = 0.01  # of choices that cost nothing, to order them by gain


@dataclass(frozen=True)
class TimeLimit:
    """By how many `percent` free scales may increase the predicted cycles of a network on any of the cores."""

    table: CycleTable
    cores: tuple[str, ...]
    percent: float = USUAL_MAX_TIME_INCREASE
    _known: dict[tuple[str, QuantizedLayer], float] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def usual(cls, percent: float = USUAL_MAX_TIME_INCREASE) -> Self:
        """Return the limit for a Cortex-M4."""
        return cls(shipped_table(), (USUAL_CORE,), percent)

    @classmethod
    def on(cls, boards: Sequence[Board], table: CycleTable, percent: float) -> Self:
        """Return the limit for the cores of boards."""
        return cls(table, tuple(sorted({board.device.core for board in boards})), percent)

    def cycles(self, quantized: QuantizedGraph) -> tuple[float, ...]:
        """Return the predicted cycles of all layers on each core."""
        return tuple(self._on(core, quantized) for core in self.cores)

    def _on(self, core: str, quantized: QuantizedGraph) -> float:
        widths = BitWidths.of_quantized(quantized)
        return sum(self._of_layer(core, own, widths.of_layer(own.layer)) for own in quantized.layers)

    def _of_layer(self, core: str, own: QuantizedLayer, widths: Widths) -> float:
        """Return the cycles of a layer, of each layer once."""
        key = core, own
        if key not in self._known:
            kernel = choose(self.table, own.layer, core, widths)
            self._known[key] = kernel_cycles(self.table, own.layer, core, widths, kernel, quantized=own)
        return self._known[key]


@dataclass(frozen=True)
class NoiseParts:
    """The power of the `noise` that each value in its `usual` format adds to the output, and that `of_weights`.

    `errors` are those of formats of the values.
    """

    errors: Mapping[str, ReadError]
    usual: Mapping[str, ValueFormat]
    noise: Mapping[str, float]
    of_weights: float

    def gain_db(self, formats: Mapping[str, ValueFormat]) -> float:
        """Return by how much other formats of the values should lower the noise, as if errors were independent."""
        values = sum(part * self._ratio(name, formats[name]) for name, part in self.noise.items())
        return decibels(self.of_weights + sum(self.noise.values()), self.of_weights + values)

    def _ratio(self, name: str, chosen: ValueFormat) -> float:
        if chosen == self.usual[name]:
            return 1.0
        error = self.errors[name]
        return error(chosen) / (error(self.usual[name]) or 1.0)


@dataclass(frozen=True)
class ScaleChoice:
    """What is free, by how much the noise is less, and the cycles that it costs."""

    freedom: Freedom = NO_FREEDOM
    gain_db: float = 0.0
    percent: float = 0.0

    @property
    def value(self) -> float:
        """The gain less what its cycles are worth, in dB."""
        return self.gain_db - DB_PER_PERCENT * self.percent

    def line(self, limit: TimeLimit) -> str:
        """Return a line for users."""
        if self.freedom == NO_FREEDOM:
            return "free scales and zero points that cost cycles: none"
        return (
            f"free scales of {len(self.freedom.scales)} values that are joined, zero points of "
            f"{len(self.freedom.zero_points)}: {self.gain_db:.1f} dB less noise for {self.percent:+.1f} % predicted "
            f"cycles ({', '.join(limit.cores)})"
        )


def search_scales(
    options: Iterable[Freedom],
    parts: NoiseParts,
    formats: Callable[[Freedom], Mapping[str, ValueFormat]],
    noise: Callable[[Freedom], float],
    cycles: Callable[[Freedom], Sequence[float]],
    limit: TimeLimit,
) -> ScaleChoice:
    """Return the choice of `options` that pays, by their `formats`, the power of the `noise`, and the `cycles` by core.

    Options are added up, those first that should gain most for their cycles alone. Of all sums that come up on the way,
    that is taken which gains most in truth, less `DB_PER_PERCENT` for its cycles.
    """
    usual_noise, usual_cycles = noise(NO_FREEDOM), cycles(NO_FREEDOM)

    def percent(freedom: Freedom) -> float:
        return max(PERCENT * (own / usual - 1) for own, usual in zip(cycles(freedom), usual_cycles, strict=True))

    expected = {option: parts.gain_db(formats(option)) for option in options}
    worth = {
        option: gain_db / max(percent(option), LEAST_PERCENT)
        for option, gain_db in expected.items()
        if gain_db >= LEAST_DB
    }
    freedom, taken = NO_FREEDOM, ScaleChoice()
    for option in sorted(worth, key=lambda option: -worth[option]):
        more = freedom | option
        if more != freedom and (cost := percent(more)) <= limit.percent:
            freedom = more
            found = ScaleChoice(freedom, decibels(usual_noise, noise(freedom)), cost)
            taken = max(taken, found, key=lambda choice: choice.value)
    return taken
