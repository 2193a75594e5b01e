"""LSTM, GRU and RNN over the pixels of a row: cells with a state, of which every step computes the next.

All sums are of 16-bit values and weights: x (8 bits are shifted to 16) and the hidden state. Gates are look-ups in a
table of tanh with interpolation, and sigmoid(x) = (1 + tanh(x / 2)) / 2; the cell state of an LSTM has 24 bits. So a
recurrent layer adds little to the error of the values around it, however long the sequence is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log2
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.arithmetic import (
    ACCUMULATOR_MAX,
    MAX_FACTOR,
    MAX_SHIFT,
    Requantization,
    rounded_shift,
)
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import FLOAT_BITS, Layer, Shape
from tinysplit.network.layers.joining import coarse_enough, product_requantization, reach

VALUE_BITS = 16
LARGEST_VALUE = (1 << (VALUE_BITS - 1)) - 1
ONE_BITS = 15  # fraction bits of gates and of the hidden state, which are at most 1
ONE = 1 << ONE_BITS
GATE_BITS = 12  # fraction bits of what gates are functions of
TABLE_SIZE, STEP_BITS = 385, 6  # of tanh from 0 to 6, where it is 1; a sigmoid has twice the steps
LARGEST_GATE = ((TABLE_SIZE - 1) << STEP_BITS + 1) - 1
CELL_BITS = 23  # of the cell state of an LSTM, without its sign
MOST_CELL_FRACTION = 22
SPARE_BITS = 2  # of the state of a Relu between steps, beyond the range of the output
LARGEST_CELL = (1 << CELL_BITS) - 1
KEPT_CELL_BITS = 17  # fraction bits of a cell state that inferences keep: it saturates at 64
LARGEST_GIVEN_CELL = 1024.0  # of cell states that are an input
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
UNIT_MACC = {"lstm": 9, "gru": 6, "rnn": 1}  # of a unit in a step, beside the products with weights


class Cell(StrEnum):
    """The kind of a cell; of a GRU the reset gate multiplies before or behind the product with recurrent weights."""

    LSTM = "lstm"
    GRU = "gru"
    RNN = "rnn"

    @property
    def gates(self) -> int:
        """Rows of weights of a unit, in the order of ONNX: i o f c of an LSTM, z r h of a GRU."""
        return GATES[self.value]


States = tuple[IntArray, IntArray]  # the hidden and the cell state, samples x units


class GivenState(NamedTuple):
    """How integers of an input become a state of at most `largest`: less their zero point, then requantized."""

    zero_point: int
    requantization: Requantization
    largest: int

    @classmethod
    def of(cls, x: ValueFormat, scale: float, largest: int) -> Self:
        """Return it for an input in format `x`. Where a step of it is more than a factor holds, all saturate."""
        ratio = min(x.scale / scale, MAX_FACTOR - 1)
        own = ValueFormat(largest.bit_length() + 1, scale)
        return cls(x.zero_point, product_requantization(ratio, own, abs(x.zero_point) - x.low), largest)

    @property
    def addend(self) -> int:
        """What is added to an integer before its requantization."""
        return self.requantization.sum_rounding - self.zero_point

    def state(self, integers: IntArray) -> IntArray:
        """Return the state that integers stand for."""
        state = self.requantization.apply(integers.astype(np.int64) + self.addend, 0)
        return state.clip(-self.largest, self.largest)


@dataclass(frozen=True, eq=False, kw_only=True)
class Recurrent(Layer):
    """A cell with `units` over the pixels of the input, from the last one to the first if it is `reverse`.

    The output has the hidden state of every pixel, or with `only_last` that of the last step. `weights_x` (gates *
    units x channels), `weights_h` (gates * units x units) and the biases of both sums are in ONNX's order.
    `resets_product` is ONNX's linear_before_reset of a GRU; `is_relu` is an RNN with Relu in place of Tanh.

    The first states are `first_h` and `first_c`, or inputs behind the first one (`given_h`, `given_c`: 1 x 1 x units).
    With `keeps_state` they are the last ones of the inference before, and 0 in the first one of a run. A layer that
    `gives_cell` has the last cell state as its output.
    """

    kind: ClassVar[str] = "recurrent"

    cell: Cell
    weights_x: NDArray[np.float32]
    weights_h: NDArray[np.float32]
    bias_x: NDArray[np.float32]
    bias_h: NDArray[np.float32]
    first_h: NDArray[np.float32]
    first_c: NDArray[np.float32]
    resets_product: bool = False
    is_relu: bool = False
    reverse: bool = False
    only_last: bool = False
    given_h: bool = False
    given_c: bool = False
    gives_cell: bool = False
    keeps_state: bool = False

    @property
    def units(self) -> int:
        """Values of the hidden state."""
        return int(self.weights_h.shape[1])

    @property
    def steps(self) -> int:
        """Steps of the sequence."""
        return self.in_shape.height * self.in_shape.width

    @property
    @override
    def in_shapes(self) -> tuple[Shape, ...]:
        """Shapes of the sequence, and of the first states that are given."""
        return (self.in_shape, *(Shape(1, 1, self.units),) * (self.given_h + self.given_c))

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return (
            Shape(1, 1, self.units)
            if self.only_last or self.gives_cell
            else self.in_shape._replace(channels=self.units)
        )

    @property
    def largest_gate(self) -> int:
        """Largest value that a sigmoid is computed of, as an integer."""
        return LARGEST_GATE

    @property
    def inputs_of_gate(self) -> int:
        """Values that a gate sums up: those of the input and the hidden state."""
        return self.in_shape.channels + self.units

    @property
    @override
    def operator_macc(self) -> int:
        """One per product with a weight, and those of gates with states."""
        return self.steps * self.units * (self.cell.gates * self.inputs_of_gate + UNIT_MACC[self.cell])

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of the largest state fit in 32 bits."""
        return coarse_enough(wanted, 2.0 ** (CELL_BITS - self.cell_bits(inputs)) if self.gives_cell else 1.0)

    @property
    @override
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """Weights, biases and first states."""
        names = ("weights_x", "weights_h", "bias_x", "bias_h", "first_h", "first_c")
        return {name: getattr(self, name) for name in names}

    @override
    def weights_bytes(self, bits: int) -> int:
        """Return the bytes of weights, biases, shifts, the table and first states, as `constants` has them."""
        if bits == FLOAT_BITS:
            return super().weights_bytes(bits)
        rows = self.cell.gates * self.units
        biases = rows + self.units * self.resets_product
        table = 0 if self.is_relu else TABLE_SIZE
        states = 2 * self.first_h.size * bool(self.first_h.any()) + 4 * self.first_c.size * bool(self.first_c.any())
        return 2 * rows * self.inputs_of_gate + 4 * biases + rows + 2 * table + states

    @property
    def state_bytes(self) -> int:
        """Bytes of RAM for what the gates sum up, the next hidden state, and the cell state or gates of a unit."""
        x, h = (count + count % 2 for count in (self.in_shape.channels, self.units))
        return 2 * (x + 2 * h) + 4 * self.units

    def x_shift(self, formats: LayerFormats) -> int:
        """Return by how many bits input integers are shifted to 16 bits."""
        return VALUE_BITS - formats.x.bits

    def state_scale(self, formats: LayerFormats) -> float:
        """Return the scale of the hidden state between steps; that of a Relu holds four times the output's range."""
        return 2.0 ** (ceil(log2(reach(formats.y))) + SPARE_BITS - ONE_BITS) if self.is_relu else 2.0**-ONE_BITS

    def sum_scale(self, formats: LayerFormats) -> float:
        """Return the scale of sums behind their shift: of gates, or of the state of a Relu."""
        return self.state_scale(formats) if self.is_relu else 2.0**-GATE_BITS

    @property
    def saturates_cell(self) -> bool:
        """Whether the number of steps does not bound the cell state of an LSTM."""
        return self.given_c or self.keeps_state

    def cell_bits(self, inputs: Sequence[ValueFormat]) -> int:
        """Return the fraction bits of the cell state of an LSTM, which every step changes by at most 1."""
        if self.keeps_state:
            return KEPT_CELL_BITS
        first = min(reach(inputs[-1]), LARGEST_GIVEN_CELL) if self.given_c else np.abs(self.first_c).max(initial=0.0)
        return min(CELL_BITS - ceil(log2(1.01 * (self.steps + float(first)) + 1)), MOST_CELL_FRACTION)

    def requantization(self, formats: LayerFormats) -> Requantization:
        """Return how the hidden state, or the cell state, becomes the output."""
        if self.gives_cell:
            scale = 2.0 ** -self.cell_bits(formats.inputs)
            return product_requantization(scale / formats.y.scale, formats.y, LARGEST_CELL)
        return product_requantization(self.state_scale(formats) / formats.y.scale, formats.y, ONE)

    def given(self, formats: LayerFormats) -> "tuple[GivenState, ...]":
        """Return how each first state that is an input becomes one of the cell, in the order of the inputs."""
        scales = [(self.state_scale(formats), LARGEST_VALUE)] * self.given_h
        scales += [(2.0 ** -self.cell_bits(formats.inputs), LARGEST_CELL)] * self.given_c
        return tuple(GivenState.of(x, *own) for x, own in zip(formats.inputs[1:], scales, strict=True))

    @override
    def constants(self, formats: LayerFormats) -> dict[str, IntArray]:
        """Return what the kernel reads.

        `weights` (units x inputs and hidden state x gates) with a scale for each gate of each unit, so that sums have
        `shifts` (units x gates) bits more than gates; `bias` of all sums, which a GRU with `resets_product` has apart
        in `bias_h` for the products with its hidden state. `tanh`, and the first states that are not 0.
        """
        gates, units = self.cell.gates, self.units
        x_scale = formats.x.scale * 2.0 ** -self.x_shift(formats)
        scaled = np.concatenate(
            [
                self.weights_x.astype(np.float64) * x_scale,
                self.weights_h.astype(np.float64) * self.state_scale(formats),
            ],
            1,
        )
        biases = self.bias_x.astype(np.float64), self.bias_h.astype(np.float64)
        unit = self.sum_scale(formats)
        zero = formats.x.zero_point << self.x_shift(formats)
        shifts = self._shifts(scaled, biases, unit, zero)
        weights = np.rint(scaled * 2.0 ** shifts[:, np.newaxis] / unit).astype(np.int64)
        offsets = zero * weights[:, : self.in_shape.channels].sum(axis=1)
        half = (1 << shifts) >> 1
        bias_x, bias_h = (np.rint(bias * 2.0**shifts / unit).astype(np.int64) for bias in biases)
        split = self.has_own_sum(np.arange(gates * units) // units)
        bias = bias_x + np.where(split, 0, bias_h) + half - offsets
        found: dict[str, IntArray] = {
            "weights": weights.reshape(gates, units, -1).transpose(1, 2, 0).astype(np.int16),
            "bias": bias.reshape(gates, units).T.astype(np.int32),
            "shifts": shifts.reshape(gates, units).T.astype(np.int8),
        }
        if split.any():
            found["bias_h"] = (bias_h + half)[split].astype(np.int32)
        if not self.is_relu:
            entries = np.tanh(np.arange(TABLE_SIZE) / 2.0 ** (GATE_BITS - STEP_BITS))
            found["tanh"] = np.minimum(np.rint(entries * ONE), LARGEST_VALUE).astype(np.int16)
        if self.first_h.any():
            first = np.rint(self.first_h / self.state_scale(formats))
            found["first_h"] = first.clip(-LARGEST_VALUE, LARGEST_VALUE).astype(np.int16)
        if self.first_c.any():
            found["first_c"] = np.rint(self.first_c.astype(np.float64) * 2.0 ** self.cell_bits(formats.inputs)).astype(
                np.int32
            )
        return found

    def _shifts(
        self, scaled: NDArray[np.float64], biases: Sequence[NDArray[np.float64]], unit: float, zero: int
    ) -> IntArray:
        """Return the most bits that sums of gates (rows) may have beyond `unit`: they fit 32 bits, and weights 16.

        Each weight is rounded by half a step at most; half of what a shift drops is added.
        """
        inputs = self.in_shape.channels
        largest = np.abs(scaled).sum(axis=1) * (LARGEST_VALUE + 1) + np.abs(scaled[:, :inputs]).sum(axis=1) * abs(zero)
        largest += sum(np.abs(bias) for bias in biases)
        room = ACCUMULATOR_MAX - self.inputs_of_gate * (LARGEST_VALUE + 1) - len(biases)
        factors = np.minimum(
            room / (largest / unit + 1 / 2), LARGEST_VALUE * unit / np.abs(scaled).max(axis=1).clip(1e-30)
        )
        shifts: IntArray = np.floor(np.log2(factors)).clip(0, MAX_SHIFT).astype(np.int64)
        return shifts

    def has_own_sum(self, gate: IntArray) -> NDArray[np.bool_]:
        """Return whether gates, by number, add their products with the hidden state apart."""
        return np.asarray((gate == Cell.GRU.gates - 1) & self.resets_product)

    @override
    def sum_bounds(self, quantized: IntegerLayer) -> IntArray:
        # largest sums of all gates
        constants = quantized.constants
        sums = np.abs(constants["weights"].astype(np.int64)).sum(axis=1) * (LARGEST_VALUE + 1)
        sums += np.abs(constants["bias"].astype(np.int64))
        if "bias_h" in constants:
            sums[:, -1] = np.maximum(sums[:, -1], np.abs(constants["bias_h"].astype(np.int64)))
        return np.append(sums.ravel(), ONE * LARGEST_GATE)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        return self.continued(quantized, inputs)[0]

    def continued(
        self, quantized: IntegerLayer, inputs: Sequence[IntArray], states: States | None = None
    ) -> tuple[IntArray, States]:
        """Return the outputs, and the states behind the last sample.

        Samples of a layer that keeps its state are one sequence, which begins with `states`, or without them with 0.
        """
        formats, n = quantized.formats, len(inputs[0])
        x = inputs[0].reshape(n, self.steps, -1).astype(np.int64) << self.x_shift(formats)
        step = _Step(self, quantized)
        if not self.keeps_state:
            outputs, states = self._run(step, x, self._first(quantized, inputs))
        else:
            pieces = []
            for sample in range(n):
                states = states or self._first(quantized, [inputs[0][:1]])
                piece, states = self._run(step, x[sample : sample + 1], states)
                pieces.append(piece)
            outputs, states = np.concatenate(pieces), cast("States", states)
        requantization = self.requantization(formats)
        sums = outputs.reshape(n, *self.out_shape) + requantization.sum_rounding
        return quantized.clamped(requantization.apply(sums, formats.y.zero_point)), states

    def _first(self, quantized: IntegerLayer, inputs: Sequence[IntArray]) -> States:
        """Return the hidden and the cell state before the first step, samples x units."""
        shape = len(inputs[0]), self.units
        given = [
            each.state(x.reshape(shape)) for each, x in zip(self.given(quantized.formats), inputs[1:], strict=True)
        ]
        own = (quantized.constants.get(name, np.zeros(self.units, np.int64)) for name in ("first_h", "first_c"))
        h, c = (np.broadcast_to(values.astype(np.int64), shape) for values in own)
        return given[0] if self.given_h else h, given[-1] if self.given_c else c

    def _run(self, step: "_Step", x: IntArray, states: States) -> tuple[IntArray, States]:
        """Return the states that are the output (samples x steps x units), and the last ones."""
        found = []
        for t in range(self.steps)[:: -1 if self.reverse else 1]:
            states = step(x[:, t], *states)
            found.append(states[self.gives_cell])
        kept = found[-1:] if self.only_last or self.gives_cell else found[:: -1 if self.reverse else 1]
        return np.stack(kept, axis=1), states


def keeps_state(layer: Layer) -> bool:
    """Return whether a layer begins with the state that it had behind the inference before."""
    return isinstance(layer, Recurrent) and layer.keeps_state


class _Step:
    """One step of a cell in integers: samples x values."""

    def __init__(self, layer: Recurrent, quantized: IntegerLayer) -> None:
        self.layer = layer
        self.cell_bits = layer.cell_bits(quantized.formats.inputs)
        self.constants = {name: values.astype(np.int64) for name, values in quantized.constants.items()}
        self.weights = self.constants["weights"].transpose(2, 0, 1).astype(np.float64)  # gates x units x values

    def __call__(self, x: IntArray, h: IntArray, c: IntArray) -> tuple[IntArray, IntArray]:
        """Return the next hidden state and cell state."""
        if self.layer.cell is Cell.LSTM:
            return self._lstm(x, h, c)
        if self.layer.cell is Cell.GRU:
            return self._gru(x, h), c
        total = self._sum(0, np.concatenate([x, h], 1), 0)
        return (total.clip(0, LARGEST_VALUE) if self.layer.is_relu else self._tanh(_gate(total))), c

    def _lstm(self, x: IntArray, h: IntArray, c: IntArray) -> tuple[IntArray, IntArray]:
        values, bits = np.concatenate([x, h], 1), self.cell_bits
        i, o, f = (self._sigmoid(_gate(self._sum(gate, values, 0))) for gate in range(3))
        g = self._tanh(_gate(self._sum(3, values, 0)))
        kept = rounded_shift((c >> 8) * f + ((c & 255) * f >> 8), ONE_BITS - 8)
        c = kept + rounded_shift(i * g, 2 * ONE_BITS - bits)
        if self.layer.saturates_cell:
            c = c.clip(-LARGEST_CELL, LARGEST_CELL)
        between = rounded_shift(c, bits - GATE_BITS) if bits > GATE_BITS else c << (GATE_BITS - bits)
        return rounded_shift(o * self._tanh(_gate(between)), ONE_BITS), c

    def _gru(self, x: IntArray, h: IntArray) -> IntArray:
        values = np.concatenate([x, h], 1)
        z, r = (self._sigmoid(_gate(self._sum(gate, values, 0))) for gate in range(2))
        if self.layer.resets_product:
            own = _gate(self._sum(2, h, x.shape[1], "bias_h"))
            total = _gate(self._sum(2, x, 0)) + rounded_shift(r * own, ONE_BITS)
        else:
            total = self._sum(2, np.concatenate([x, rounded_shift(r * h, ONE_BITS)], 1), 0)
        candidate = self._tanh(_gate(total))
        return candidate + rounded_shift(z * (h - candidate), ONE_BITS)

    def _sum(self, gate: int, values: IntArray, first: int, bias: str = "bias") -> IntArray:
        """Return the shifted sum of a gate over values, whose weights are those from `first` on."""
        own = self.constants[bias]
        weights = self.weights[gate, :, first : first + values.shape[1]]
        products = (values.astype(np.float64) @ weights.T).astype(np.int64)
        sums: IntArray = (products + (own if own.ndim == 1 else own[:, gate])) >> self.constants["shifts"][:, gate]
        return sums

    def _tanh(self, gate: IntArray) -> IntArray:
        return np.asarray(np.sign(gate) * self._interpolated(np.minimum(np.abs(gate), LARGEST_GATE >> 1), STEP_BITS))

    def _sigmoid(self, gate: IntArray) -> IntArray:
        tanh = np.sign(gate) * self._interpolated(np.abs(gate), STEP_BITS + 1)
        return np.asarray((tanh + ONE + 1) >> 1)

    def _interpolated(self, position: IntArray, step_bits: int) -> IntArray:
        table, index = self.constants["tanh"], position >> step_bits
        between = position & ((1 << step_bits) - 1)
        return np.asarray(table[index] + rounded_shift((table[index + 1] - table[index]) * between, step_bits))


def _gate(total: IntArray) -> IntArray:
    """Return what a gate is a function of: a sum within the range of the table."""
    return total.clip(-LARGEST_GATE, LARGEST_GATE)
