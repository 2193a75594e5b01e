"""Per-channel scales of weights, and the requantization factors that follow (Singh 2024: fully fractional weights).

Singh 2024 divides the weights of a channel by a division factor that makes them purely fractional, and multiplies the
accumulator by a correction factor afterwards. Here the correction, an integer over a power of two, is chosen first, and
the scale of the weights follows from it. So the multiplication is exact, and a few bits suffice for the factors: they
only limit how finely the scales of channels can differ.
"""

from dataclasses import dataclass, replace
from math import ceil, frexp, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, MAX_SHIFT, Requantization, TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.layer_formats import CLIPPED_SHARES, Bounds, LayerFormats
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer

LARGEST_FACTOR = (1 << 16) - 1
SMALLEST_FACTOR = 16  # rounding a factor up to an integer takes at most 1/16 of the channel's range
FACTOR_BITS = (4, 15)
SUM_STEPS_BITS = 2  # sums stay as fine as a quarter of an output's step, or finer
HEADROOM = 1 << 20  # of a 32-bit accumulator, for rounding errors
NEAREST_BITS = (12, 15)  # of factors that approximate given scales
ROOM_BITS = 1  # for the factors of other weights of the layer: `refit`
SMALLEST_NEAREST = 256  # is off by 1/512 at most, so that no integer of 8 bits changes
VISIBLE = 0.25  # steps of the output: less error than its own rounding
EXACT = 1e-5  # tolerance of sums of exact weights, of at most 16 bits
NO_INTEGER = 0.01  # tolerance of weight / scale: rounding error of float32
KEPT_BITS = 8
CONSTANT_SUM = 1 << 22  # of channels whose output is constant
LIMIT = (1 << (KEPT_BITS - 1)) - 1  # of kept weights; the lowest is -LIMIT
SMALLEST_CORRECTION = 2.0**-28
UNSIGNED_SUM_LIMIT = (1 << 16) - 1  # of a group's products: two sums share a word


def correct(
    layer: Layer, x: ValueFormat, wanted: ValueFormat, bounds: Bounds, bits: int, finer: int = 0
) -> LayerFormats | None:
    """Return the formats of a layer with weights of `bits` bits for inputs between the integers `bounds`.

    The output has the format `wanted`, or coarser steps: it is at most `finer` halvings finer than the sums that it is
    made from.
    Returns None where no step of the weights keeps the sums in 32 bits.
    """
    needs = _needs(layer, x, bounds, bits)
    if needs is None:
        return None
    excess = frexp(float(needs.steps.max()) * x.scale / wanted.scale)[1]
    y = ValueFormat.of(wanted.bits, wanted.scale * 2.0 ** max(excess - finer, 0), wanted.zero_point)
    corrections = needs.steps * x.scale / y.scale
    corrections = np.maximum(corrections, max(float(corrections.max()) * 2.0 ** -FACTOR_BITS[1], SMALLEST_CORRECTION))
    sum_bits = _bits(needs.sums / (corrections * y.scale))
    formats = LayerFormats((x,), y, bits, _at_least(corrections, sum_bits, y.zero_point))
    return _shifted(layer, formats, bounds)


def keep(layer: Layer, x: ValueFormat, y: ValueFormat, bounds: Bounds) -> LayerFormats | None:
    """Return formats for weights that came as 8-bit integers.

    The factors are rounded, but so little that the weights stay the same integers, -128 becoming -127; except in
    channels with scales so much smaller than others that their factors would have few bits. Those weights are rounded
    again (`rounded_again`). Layers of .tflite files have the requantization of TensorFlow Lite. Returns None where
    weights came as others, are none of -128 to 127 (zero points, or changed since), where their scales are those of
    other channels, or where no factors keep the sums in 32 bits.
    """
    steps = _integer_steps(layer)
    if steps is None:
        return None
    if as_tflite := _as_tflite(layer, x, y, bounds, steps):
        return as_tflite
    largest = max(abs(bound - x.zero_point) for bound in bounds)
    sums = np.abs(_in_steps(layer, steps)).sum(axis=1) * largest + np.abs(layer.parameters["bias"] / (x.scale * steps))
    requantization = _nearest(steps * x.scale / y.scale, _bits(sums), y.zero_point, _rounding_error(layer, largest))
    if requantization is None:
        return None
    return _shifted(layer, LayerFormats((x,), y, KEPT_BITS, requantization), bounds)


def _as_tflite(
    layer: Layer, x: ValueFormat, y: ValueFormat, bounds: Bounds, steps: NDArray[np.float64]
) -> LayerFormats | None:
    """Return formats with the requantization of TensorFlow Lite, whose scales are float32, and ratios of them float64.

    Fully connected layers round once, and with one scale for all weights the scale of their sums is float32, too.
    Channels of almost no weights, whose biases converters give 31 bits, get coarser scales, with equal outputs.
    Returns None for other layers, and for ratios of 1 or more.
    """
    if not layer.rounding or not x.bits == y.bits == KEPT_BITS:
        return None
    sum_scales = x.scale * steps
    if layer.rounding == "once" and steps.size == 1:
        sum_scales = sum_scales.astype(np.float32).astype(np.float64)
    ratios = np.broadcast_to(sum_scales / y.scale, layer.out_shape.channels)
    requantization = TfliteRequantization.of(ratios, layer.rounding)
    if requantization is None:
        return None
    formats = LayerFormats((x,), y, KEPT_BITS, requantization)
    sums = layer.sum_bounds(QuantizedLayer.of(layer, formats, (bounds,)))
    needed = _bits_above(sums, ACCUMULATOR_MAX >> requantization.left_shift)
    if (needed > requantization.shifts).any():
        return None
    low, high = _extremes(layer, formats, requantization, bounds)
    wanted = np.where(low == high, np.minimum(_bits_above(sums, CONSTANT_SUM), requantization.shifts), 0)
    is_same = np.equal(_extremes(layer, formats, requantization.coarser(wanted), bounds), (low, high)).all(axis=0)
    return replace(formats, requantization=requantization.coarser(np.maximum(needed, np.where(is_same, wanted, 0))))


def _bits_above(sums: IntArray, limit: int) -> IntArray:
    """Return by how many bits sums exceed a limit."""
    return np.ceil(np.log2(np.maximum(sums / limit, 1))).astype(np.int64)


def _extremes(
    layer: Layer, formats: LayerFormats, requantization: TfliteRequantization, bounds: Bounds
) -> tuple[IntArray, IntArray]:
    """Return the smallest and the largest output of each channel with a requantization, clamped to their format."""
    parameters = layer.round_parameters(replace(formats, requantization=requantization))
    if parameters is None:
        raise ValueError(f"layer {layer.name!r} has no weights")
    largest = max(abs(bound - formats.x.zero_point) for bound in bounds)
    reach = np.abs(layer.by_channel(parameters.weights.astype(np.int64))).sum(axis=1) * largest
    low, high = (
        requantization.apply(parameters.bias + sign * reach, formats.y.zero_point).clip(formats.y.low, formats.y.high)
        for sign in (-1, 1)
    )
    return low, high


def refit(layer: Layer, formats: LayerFormats, bounds: Bounds) -> LayerFormats | None:
    """Return formats for other weights of a layer, which differ from `formats` in the factors alone.

    Programs have the shifts in their code and, with some kernels, a factor that all channels have: it stays where it is
    large enough, unless the weights came as integers. Returns None where the weights are too large for the shifts.
    """
    before, bits = formats.requantization, formats.weight_bits
    if isinstance(before, TfliteRequantization):
        return _refit_as_tflite(layer, formats, bounds, before)
    needs = _needs(layer, formats.x, bounds, bits) if bits else None
    if before is None or needs is None:
        return None
    steps = _integer_steps(layer)
    packed = _packed_steps(layer, formats, bounds)
    factor_of_one = formats.x.scale / formats.y.scale * 2.0 ** (before.pre_shift + before.post_shift)
    if steps is None or bits != KEPT_BITS:
        least = before.factors[0] if len(before.factors) == 1 else 1
        factors = np.maximum(np.ceil(np.maximum(needs.steps, packed) * factor_of_one), least)
    else:
        factors = np.maximum(_whole(steps * factor_of_one), np.ceil(packed * factor_of_one))
    if len(before.factors) == 1:
        factors = factors.max(keepdims=True)
    if factors.max() > LARGEST_FACTOR:
        return None
    refitted = replace(formats, requantization=replace(before, factors=tuple(factors.astype(np.int64).tolist())))
    return refitted if largest_sum(QuantizedLayer.of(layer, refitted, (bounds,))) <= ACCUMULATOR_MAX else None


def _refit_as_tflite(
    layer: Layer, formats: LayerFormats, bounds: Bounds, before: TfliteRequantization
) -> LayerFormats | None:
    """Return the formats of other weights as TensorFlow Lite has them; None where the code of `before` is another."""
    steps = _integer_steps(layer)
    found = None if steps is None else _as_tflite(layer, formats.x, formats.y, bounds, steps)
    if found is None or not isinstance(found.requantization, TfliteRequantization):
        return None
    if (min(found.requantization.shifts) > 0) != (min(before.shifts) > 0):
        return None
    refitted = replace(formats, requantization=found.requantization)
    fits_groups = _packed_steps(layer, refitted, bounds, rounding=0) <= refitted.weight_scales * (1 + EXACT)
    return refitted if fits_groups.all() else None


def _integer_steps(layer: Layer) -> NDArray[np.float64] | None:
    """Return the scales of weights that came as 8-bit integers, one for all channels or each; None where they did not.

    Weights with zero points, or changed since otherwise than by factors, are none of -128 to 127.
    """
    steps = layer.qdq_scales
    if steps is None or steps.size not in {1, layer.out_shape.channels}:
        return None
    weights = _in_steps(layer, steps)
    integers = np.rint(weights)
    is_kept = np.abs(weights - integers).max() <= NO_INTEGER and np.abs(integers).max() <= LIMIT + 1
    return steps if is_kept else None


def _in_steps(layer: Layer, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of every output channel in its steps."""
    return layer.by_channel(layer.parameters["weights"]).astype(np.float64) / steps[:, np.newaxis]


def clipped_weights(quantized: QuantizedLayer) -> int:
    """Return how many weights of -128 (128 behind a negative factor) became -127, as the range is symmetric."""
    steps = _integer_steps(quantized.layer)
    if steps is None or quantized.formats.weight_bits != KEPT_BITS:
        return 0
    return int((np.abs(np.rint(_in_steps(quantized.layer, steps))) > LIMIT).sum())


def _packed_steps(layer: Layer, formats: LayerFormats, bounds: Bounds, rounding: float = 1) -> NDArray[np.float64]:
    """Return the scale of each channel for which no group exceeds 16 bits, weights rounded up by at most `rounding`."""
    weights = np.abs(layer.by_channel(layer.parameters["weights"]).astype(np.float64))
    unroll = sum(map(len, formats.packed_groups))
    if not unroll:
        return np.zeros(len(weights))
    loops = np.pad(weights, ((0, 0), (0, -weights.shape[1] % unroll))).reshape(len(weights), -1, unroll)
    x_high = bounds[1] - (formats.x.low if bounds[0] < 0 else 0)  # of inputs as unsigned integers
    most = UNSIGNED_SUM_LIMIT // max(x_high, 1)
    steps = [
        loops[:, :, places].sum(axis=2).max(axis=1) / (most - rounding * len(places))
        for places in map(list, formats.packed_groups)
    ]
    largest: NDArray[np.float64] = np.max(steps, axis=0)
    return largest


@dataclass(frozen=True, eq=False)
class _Needs:
    """Of each output channel: the smallest scale that holds its weights and accumulator, and its largest real sum."""

    steps: NDArray[np.float64]
    sums: NDArray[np.float64]


def _needs(layer: Layer, x: ValueFormat, bounds: Bounds, bits: int) -> _Needs | None:
    """Return the needs of all channels, None where rounding errors alone could exceed 32 bits."""
    weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64)
    bias = layer.parameters["bias"].astype(np.float64)
    low, high = ((bound - x.zero_point) * x.scale for bound in bounds)
    positive, negative = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)
    sums = np.maximum(bias + positive * high + negative * low, -(bias + positive * low + negative * high))
    sums = np.maximum(sums, np.abs(bias))
    rounding = weights.shape[1] * max(high, -low) / x.scale / 2 + HEADROOM
    if rounding >= ACCUMULATOR_MAX:
        return None
    by_sums = sums / x.scale / (ACCUMULATOR_MAX - rounding)
    return _Needs(np.maximum(_least_error_steps(weights, (1 << (bits - 1)) - 1), by_sums), sums)


def _least_error_steps(weights: NDArray[np.float64], limit: int) -> NDArray[np.float64]:
    """Return the scale of each channel with the least mean squared error: the largest weights may saturate."""
    whole = np.abs(weights).max(axis=1) / limit
    candidates = np.array([share * whole for share in CLIPPED_SHARES])[..., np.newaxis]
    steps = np.where(candidates > 0, candidates, 1.0)
    rounded = np.rint(weights / steps).clip(-limit, limit) * steps
    best = ((rounded - weights) ** 2).sum(axis=-1).argmin(axis=0)
    least: NDArray[np.float64] = np.array(CLIPPED_SHARES)[best] * whole
    return least


def _bits(sums: NDArray[np.float64]) -> int:
    """Return the bits of the largest sum."""
    return frexp(float(sums.max()))[1]


def _most_shift(zero_point: int, sum_bits: int, factor_bits: int) -> int:
    """Return the most bits that both shifts may have, so that the offset with the zero point stays in 32 bits."""
    return MAX_SHIFT - zero_point.bit_length() + max(sum_bits + factor_bits - 31, 0)


def _at_least(corrections: NDArray[np.float64], sum_bits: int, zero_point: int) -> Requantization:
    """Return integer factors for at least `corrections`, for sums of `sum_bits` bits, without a first shift."""
    largest = float(corrections.max())
    exponent = frexp(largest)[1]
    wanted = ceil(log2(SMALLEST_FACTOR * largest / float(corrections.min())))
    room = 31 - SUM_STEPS_BITS - exponent - sum_bits
    factor_bits = int(np.clip(min(wanted, room), *FACTOR_BITS))
    shift = min(factor_bits - exponent, _most_shift(zero_point, sum_bits, factor_bits))
    return _reduced(np.maximum(np.ceil(corrections * 2.0**shift), 1), shift)


def _nearest(corrections: NDArray[np.float64], sum_bits: int, zero_point: int, error: float) -> Requantization | None:
    """Return the integer factors nearest to `corrections`, None where they are so small or large that none is near.

    They have the bits that sums leave without a first shift. Channels in which the `error` of a sum is visible if their
    weights are rounded again get more, up to a first shift that leaves sums as fine as `SUM_STEPS_BITS` says.
    """
    exponent = frexp(float(corrections.max()))[1]
    least = float(corrections.min(initial=corrections.max(), where=corrections * error > VISIBLE))
    wanted = ceil(log2(SMALLEST_NEAREST / least)) + exponent
    room = 31 - ROOM_BITS - sum_bits
    factor_bits = int(np.clip(max(room, min(wanted, room - SUM_STEPS_BITS - exponent)), *NEAREST_BITS))
    shift = min(factor_bits - exponent, _most_shift(zero_point, sum_bits, factor_bits))
    factors = _whole(corrections * 2.0**shift)
    if shift < 0 or factors.max() < SMALLEST_NEAREST:
        return None
    return _reduced(factors, shift)


def _whole(factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest integers, or the next larger ones where these are too far off to keep the weights."""
    nearest = np.rint(factors)
    return np.where(_keeps_weights(nearest, factors), nearest, np.maximum(np.ceil(factors), 1.0))


def _keeps_weights(factors: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each channel whether weights of 8 bits are the same integers in scales of these ratios."""
    kept: NDArray[np.bool_] = np.abs(factors - wanted) <= wanted / (2 * SMALLEST_NEAREST)
    return kept


def _rounding_error(layer: Layer, largest: int) -> float:
    """Return about the error of a channel's sum (root mean square) where its weights are rounded.

    Inputs are up to `largest` steps from their zero point, half of that on average.
    """
    count = layer.parameters["weights"].size / layer.out_shape.channels
    return largest / 2 * sqrt(count / 12)


def rounded_again(quantized: QuantizedLayer) -> int:
    """Return in how many channels weights that came as 8-bit integers became others, with a visible error."""
    layer, formats = quantized.layer, quantized.formats
    steps = _integer_steps(layer)
    if steps is None or formats.weight_bits != KEPT_BITS:
        return 0
    largest = max(abs(bound - formats.x.zero_point) for bound in quantized.x_bounds)
    is_visible = formats.sum_scales / formats.y.scale * _rounding_error(layer, largest) > VISIBLE
    return int((is_visible & ~_keeps_weights(formats.weight_scales, steps)).sum())


def _reduced(wide: NDArray[np.float64], shift: int) -> Requantization:
    """Return a requantization without common factors of two, and with one factor where all are alike."""
    factors = wide.astype(np.int64)
    divisor = int(np.gcd.reduce(factors))
    halvings = min((divisor & -divisor).bit_length() - 1, shift)
    factors >>= halvings
    same = bool((factors == factors[0]).all())
    return Requantization(tuple(factors[:1].tolist() if same else factors.tolist()), shift - halvings)


def largest_sum(quantized: QuantizedLayer) -> int:
    """Return the largest absolute value that the kernel's 32-bit integers can take."""
    sums = quantized.layer.sum_bounds(quantized)
    formats = quantized.formats
    if formats.requantization:
        return formats.requantization.largest(sums, formats.y.zero_point)
    return int(sums.max())


def _shifted(layer: Layer, formats: LayerFormats, bounds: Bounds) -> LayerFormats | None:
    """Return the formats with the smallest first shift that provably keeps everything in 32 bits, None without one."""
    whole = formats.shifted
    if whole is None:
        return None
    for pre_shift in range(max(whole.post_shift - MAX_SHIFT, 0), min(whole.post_shift, MAX_SHIFT) + 1):
        shifted = replace(whole, pre_shift=pre_shift, post_shift=whole.post_shift - pre_shift)
        candidate = replace(formats, requantization=shifted)
        if largest_sum(QuantizedLayer.of(layer, candidate, (bounds,))) <= ACCUMULATOR_MAX:
            return candidate
    return None
