"""Monomials and posynomials that fit measurements, with what they leave unexplained.

All errors are relative, so that a part of one channel counts as much as one of a thousand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from tinysplit.common.errors import InputError
from tinysplit.common.tables import plain_table
from tinysplit.common.units import PERCENT
from tinysplit.papers.solvers.geometric.posynomial import Floats, Monomial, Posynomial

ROUNDING = 1e-12  # of the relative errors of a fit


@dataclass(frozen=True)
class Fit:
    """A model and, for each measurement, the measured and the modelled value."""

    model: Posynomial
    measured: Floats
    modelled: Floats

    @property
    def residuals(self) -> Floats:
        """The logarithm of modelled / measured: what the straight line in log-log leaves."""
        return np.log(self.modelled / self.measured)

    @property
    def largest_error(self) -> float:
        """The largest relative error, 0.1 for 10 %."""
        return float(np.max(np.abs(self.modelled / self.measured - 1)))


def fit_monomial(features: Mapping[str, ArrayLike], measured: ArrayLike) -> Fit:
    """Return c times a power of each feature by least squares of the logarithms.

    `features` and `measured`: arrays (n,) of positive numbers.

    Raises:
        InputError: numbers that are not positive, or too few of them for the exponents.
    """
    columns, values = _checked(features, measured)
    logs = np.column_stack([np.ones(len(values)), *(np.log(column) for column in columns.values())])
    (constant, *powers), _, rank, _ = np.linalg.lstsq(logs, np.log(values))
    if rank < logs.shape[1]:
        raise InputError(f"{len(values)} measurements do not determine a monomial of {', '.join(columns)}")
    model = Posynomial((Monomial(float(np.exp(constant)), dict(zip(columns, map(float, powers), strict=True))),))
    return Fit(model, values, model.of(columns))


def fit_posynomial(
    features: Mapping[str, ArrayLike], measured: ArrayLike, exponents: Sequence[Mapping[str, float]]
) -> Fit:
    """Return the sum of monomials of given `exponents` with the least squares of relative errors, coefficients >= 0.

    `features` and `measured`: arrays (n,) of positive numbers. Monomials whose coefficient is 0, but for rounding, are
    left out.

    Raises:
        InputError: numbers that are not positive.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 (half a second, and few commands need it)

    columns, values = _checked(features, measured)
    terms = [Monomial(1.0, dict(powers)) for powers in exponents]
    relative = np.column_stack([np.broadcast_to(term.of(columns), values.shape) / values for term in terms])
    scale = relative.max(axis=0)  # columns of one size: exponents 0 and 2 of large features differ by orders
    coefficients, _ = nnls(relative / scale, np.ones(len(values)))  # each is the largest share of a measurement
    scaled_terms = zip(coefficients, scale, terms, strict=True)
    model = Posynomial(tuple(Monomial(float(c / s), term.exponents) for c, s, term in scaled_terms if c > ROUNDING))
    return Fit(model, values, np.broadcast_to(model.of(columns), values.shape))


def fit_table(fits: Mapping[str, Fit]) -> Table:
    """Return a table of models: how many measurements, and what each model leaves unexplained."""
    table = plain_table("model", "formula", numbers=("points", "rms residual", "largest error"))
    for name, fit in fits.items():
        rms = float(np.sqrt(np.mean(fit.residuals**2)))
        table.add_row(
            name, formula(fit.model), str(len(fit.measured)), f"{rms:.4f}", f"{PERCENT * fit.largest_error:.1f} %"
        )
    return table


def formula(model: Posynomial) -> str:
    """Return a posynomial as text: "0.5 channels^1.2 + 3"."""
    words = (
        " ".join([f"{term.coefficient:.4g}", *(f"{name}^{power:.4g}" for name, power in term.exponents.items())])
        for term in model.terms
    )
    return " + ".join(words) or "0"


def _checked(features: Mapping[str, ArrayLike], measured: ArrayLike) -> tuple[Mapping[str, Floats], Floats]:
    columns = {name: np.asarray(column, np.float64) for name, column in features.items()}
    values = np.asarray(measured, np.float64)
    for name, column in {**columns, "the measured values": values}.items():
        if column.shape != values.shape or not np.all(np.isfinite(column) & (column > 0)):
            raise InputError(f"a log-log fit needs {values.size} positive numbers of each feature: see {name}")
    return columns, values
