"""Monomials and posynomials of named variables (Carballo-Hernández 2023, formulas 1 and 2)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Exponents = tuple[tuple[str, float], ...]  # sorted by variable, none of them 0


@dataclass(frozen=True)
class Monomial:
    """`coefficient` times the product of variables to constant powers; the coefficient is positive."""

    coefficient: float
    exponents: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.coefficient <= 0:
            raise ValueError(f"a monomial needs a positive coefficient, got {self.coefficient}")

    def of(self, variables: Mapping[str, ArrayLike]) -> Floats:
        """Return the values at positive `variables`, which are scalars or arrays of one shape."""
        powers = (np.asarray(variables[name], np.float64) ** power for name, power in self.exponents.items())
        return np.asarray(self.coefficient * prod(powers, start=np.float64(1)))


@dataclass(frozen=True)
class Posynomial:
    """A sum of monomials; without any it is 0, which stands for a cost that does not exist."""

    terms: tuple[Monomial, ...] = ()

    @classmethod
    def of_powers(cls, variable: str, coefficients: Sequence[float]) -> "Posynomial":
        """Return the polynomial of one variable; `coefficients` from the highest power to the constant, 0 left out."""
        powers = range(len(coefficients) - 1, -1, -1)
        return cls(
            tuple(Monomial(c, {variable: p} if p else {}) for c, p in zip(coefficients, powers, strict=True) if c)
        )

    @property
    def is_zero(self) -> bool:
        """Whether there is no term."""
        return not self.terms

    def of(self, variables: Mapping[str, ArrayLike]) -> Floats:
        """Return the values at positive `variables`, which are scalars or arrays of one shape."""
        return sum((term.of(variables) for term in self.terms), start=np.zeros(()))

    def at(self, **fixed: float) -> "Posynomial":
        """Return the posynomial of the other variables that is left with some variables fixed."""
        kept: dict[Exponents, float] = defaultdict(float)
        for term in self.terms:
            factor = prod(fixed[name] ** power for name, power in term.exponents.items() if name in fixed)
            kept[_key({n: p for n, p in term.exponents.items() if n not in fixed})] += term.coefficient * factor
        return _from(kept)

    def __add__(self, other: "Posynomial") -> "Posynomial":
        return _from(_collected((*self.terms, *other.terms)))

    def __mul__(self, other: "Posynomial | float") -> "Posynomial":
        factor = other if isinstance(other, Posynomial) else Posynomial((Monomial(other),))
        return _from(_collected(_product(a, b) for a in self.terms for b in factor.terms))


ZERO = Posynomial()


def _product(a: Monomial, b: Monomial) -> Monomial:
    names = {**a.exponents, **b.exponents}
    powers = {name: a.exponents.get(name, 0) + b.exponents.get(name, 0) for name in names}
    return Monomial(a.coefficient * b.coefficient, powers)


def _key(exponents: Mapping[str, float]) -> Exponents:
    return tuple(sorted((name, power) for name, power in exponents.items() if power))


def _collected(terms: Iterable[Monomial]) -> Mapping[Exponents, float]:
    sums: dict[Exponents, float] = defaultdict(float)
    for term in terms:
        sums[_key(term.exponents)] += term.coefficient
    return sums


def _from(sums: Mapping[Exponents, float]) -> Posynomial:
    return Posynomial(tuple(Monomial(coefficient, dict(key)) for key, coefficient in sums.items()))
