"""The costs of a kernel's parts that fit measured layers best, and how well they do."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinysplit.kernels.cost_table import ONCE, FitErrors, FitQuality, PartCycles, Work

HELD_OUT_SHARE = 0.2  # of the shapes
OTHER_SHAPES = 2  # with each part of a shape that is held out, at least
RESAMPLES = 200
CONFIDENCE_PERCENT = 95.0
KNEE = 0.03  # relative error beyond which a layer pulls as hard as with this one: its work lacks something
SMALL_CYCLES = 50_000  # layers of this size weigh half as much as the largest ones
ROUNDS = 25  # of reweighting
_SEED = 0  # the same measurements give the same file

Costs = Mapping[str, float]  # cycles of each part


class CostSample(NamedTuple):
    """The work of a layer, what is fitted to it, and the cycles of the layer, to which errors are relative."""

    work: Work
    value: float
    cycles: float


class Validated(NamedTuple):
    """Costs with their quality."""

    costs: Costs
    quality: FitQuality


def fit(samples: Sequence[CostSample]) -> Costs:
    """Return the cost of every part, and of `ONCE`, what a layer takes besides; parts that cost nothing are left out.

    Non-negative M-estimate of the relative error (Huber 1964), by iteratively reweighted least squares. Errors are
    relative to the mean of estimate and measurement: relative to the measurement alone, low estimates fit better.
    """
    return _System.of(samples).costs


def validated_fit(samples: Sequence[CostSample]) -> Validated:
    """Return the costs that fit all layers, with their errors and intervals.

    The errors on held-out shapes are those of costs that fit all others. The intervals are those of the percentile
    bootstrap (Efron 1979) over the layers.
    """
    system = _System.of(samples)
    costs = system.costs
    held_out = held_out_of(samples)
    drawn = np.random.default_rng(_SEED).integers(len(samples), size=(RESAMPLES, len(samples)))
    resampled = np.array([system.solve(rows) for rows in drawn])
    rest = (100 - CONFIDENCE_PERCENT) / 2
    low, high = np.percentile(resampled, [rest, 100 - rest], axis=0)
    intervals = {
        part: (_rounded(low[index]), _rounded(high[index])) for index, part in enumerate(system.parts) if part in costs
    }
    quality = FitQuality(
        fitted=_errors(costs, samples), held_out=_held_out_errors(samples, held_out), intervals=intervals
    )
    return Validated(costs, quality)


def _held_out_errors(samples: Sequence[CostSample], held_out: Container[int]) -> FitErrors | None:
    others = [sample for index, sample in enumerate(samples) if index in held_out]
    used = [sample for index, sample in enumerate(samples) if index not in held_out]
    return _errors(fit(used), others) if others else None


class _System(NamedTuple):
    """The equations of a fit, one for each layer, with columns of equal size."""

    parts: Sequence[str]
    counts: NDArray[np.float64]  # layers x parts, relative to the cycles of the layer
    scales: NDArray[np.float64]  # of the parts
    values: NDArray[np.float64]  # of the layers, relative to their cycles
    weights: NDArray[np.float64]  # of the squared errors

    @classmethod
    def of(cls, samples: Sequence[CostSample]) -> "_System":
        """Return the equations of the relative errors, with the weights of the M-estimate."""
        works = [{ONCE: 1.0, **sample.work} for sample in samples]
        parts = sorted({part for work in works for part in work})
        cycles = np.array([sample.cycles for sample in samples])
        counts = np.array([[work.get(part, 0.0) for part in parts] for work in works]) / cycles[:, None]
        scales = np.maximum(counts.max(axis=0), np.finfo(np.float64).tiny)
        of_size = cycles / (cycles + SMALL_CYCLES)
        values = np.array([sample.value for sample in samples]) / cycles
        system = cls(parts, counts / scales, scales, values, of_size)
        for _ in range(ROUNDS):
            errors = system.counts @ (system.solve() * scales) - values
            robust = KNEE / np.maximum(np.abs(errors), KNEE)
            system = system._replace(weights=of_size * robust / (1 + errors / 2) ** 2)
        return system

    @property
    def costs(self) -> Costs:
        """The costs of all parts that cost something, by all layers."""
        return {part: float(cost) for part, cost in zip(self.parts, self.solve(), strict=True) if cost > 0}

    def solve(self, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.float64]:
        """Return the cost of each part that fits these rows best, with their weights in the fit of all."""
        from scipy.optimize import nnls  # noqa: PLC0415 (half a second, for what only the calibration needs)

        roots = np.sqrt(self.weights[rows])
        costs: NDArray[np.float64] = nnls(self.counts[rows] * roots[:, None], self.values[rows] * roots)[0]
        return costs / self.scales


def held_out_of(samples: Sequence[CostSample]) -> frozenset[int]:
    """Return the indices of all layers of the shapes to hold out: random ones, whose parts others have."""
    shapes: dict[tuple[tuple[str, float], ...], list[int]] = {}
    for index, sample in enumerate(samples):
        shapes.setdefault(tuple(sorted(sample.work.items())), []).append(index)
    left = Counter(part for shape in shapes for part, count in shape if count)
    order = sorted(shapes)
    np.random.default_rng(_SEED).shuffle(order)
    held_out: list[int] = []
    missing = int(HELD_OUT_SHARE * len(shapes))
    for shape in order:
        parts = [part for part, count in shape if count]
        if missing and all(left[part] > OTHER_SHAPES for part in parts):
            held_out += shapes[shape]
            left.subtract(parts)
            missing -= 1
    return frozenset(held_out)


def _errors(costs: Costs, samples: Sequence[CostSample]) -> FitErrors:
    predicted = PartCycles.model_construct(cycles=dict(costs))
    errors = [abs(predicted.of(sample.work) - sample.value) / sample.cycles for sample in samples]
    return FitErrors(layers=len(errors), mean=_rounded(sum(errors) / len(errors)), worst=_rounded(max(errors)))


def _rounded(number: float) -> float:
    return float(f"{number:.3g}")
