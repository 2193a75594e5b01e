"""Monomials and posynomials, and their fits to measurements."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from tinysplit.common.errors import InputError
from tinysplit.papers.solvers.geometric.fit import fit_monomial, fit_posynomial, fit_table, formula
from tinysplit.papers.solvers.geometric.posynomial import ZERO, Monomial, Posynomial


def test_sums_products_and_fixed_variables_have_the_values_of_plain_arithmetic() -> None:
    x, y = np.array([0.5, 1, 3]), np.array([2, 0.1, 7])
    a = Posynomial.of_powers("x", (2, 0, 5))
    b = Posynomial((Monomial(3, {"x": -0.5, "y": 2}), Monomial(1, {"y": 1})))
    of_a, of_b = 2 * x**2 + 5, 3 * x**-0.5 * y**2 + y
    both = {"x": x, "y": y}
    np.testing.assert_allclose(a.of(both), of_a)
    np.testing.assert_allclose((a + b).of(both), of_a + of_b)
    np.testing.assert_allclose((a * b).of(both), of_a * of_b)
    np.testing.assert_allclose((b * 4).of(both), 4 * of_b)
    np.testing.assert_allclose((a * b).at(x=3).of({"y": y}), (a * b).of({"x": np.full(3, 3.0), "y": y}))
    assert (a * b).at(x=3, y=7).of({}) == pytest.approx((of_a * of_b)[-1])


def test_equal_powers_are_one_term() -> None:
    a = Posynomial.of_powers("x", (1, 1))
    assert [(term.coefficient, dict(term.exponents)) for term in (a * a).terms] == [
        (1, {"x": 2}),
        (2, {"x": 1}),
        (1, {}),
    ]
    assert len((a + a).terms) == 2
    assert (a * a).at(x=2).terms == (Monomial(9),)


def test_nothing_costs_nothing() -> None:
    assert ZERO.is_zero
    assert ZERO.of({"x": 3}) == 0
    assert not (ZERO + Posynomial.of_powers("x", (1,))).is_zero


def test_coefficients_are_positive() -> None:
    with pytest.raises(ValueError, match="positive coefficient, got -1"):
        Posynomial.of_powers("x", (-1, 2))


def test_a_monomial_is_found_again() -> None:
    rng = np.random.default_rng(1)
    side, channels = rng.integers(1, 200, 40), rng.integers(1, 500, 40)
    fit = fit_monomial({"side": side, "channels": channels}, 0.25 * side**2.0 * channels**0.9)
    (term,) = fit.model.terms
    assert term.coefficient == pytest.approx(0.25)
    assert dict(term.exponents) == pytest.approx({"side": 2, "channels": 0.9})
    assert fit.largest_error < 1e-9


def test_a_posynomial_is_found_again_over_orders_of_magnitude() -> None:
    channels = np.array([1, 2, 5, 20, 100, 500, 2000])
    fit = fit_posynomial({"channels": channels}, 3e-4 * channels + 2.0, [{"channels": 2}, {"channels": 1}, {}])
    assert formula(fit.model) == "0.0003 channels^1 + 2"


def test_residuals_are_what_a_straight_line_leaves() -> None:
    channels = np.array([1, 2, 4, 8, 16])
    measured = 10 + 2.0 * channels
    line, sum_of_two = (
        fit_monomial({"channels": channels}, measured),
        fit_posynomial({"channels": channels}, measured, [{"channels": 1}, {}]),
    )
    slope, constant = np.polyfit(np.log(channels), np.log(measured), 1)
    np.testing.assert_allclose(line.residuals, constant + slope * np.log(channels) - np.log(measured), atol=1e-12)
    assert line.largest_error > 0.1
    assert sum_of_two.largest_error < 1e-9
    text = StringIO()
    Console(file=text, width=100).print(fit_table({"latency": line, "two terms": sum_of_two}))
    assert "2 channels^1 + 10" in text.getvalue()
    assert "0.0 %" in text.getvalue()


def test_what_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="positive numbers of each feature: see channels"):
        fit_monomial({"channels": [0, 1, 2]}, [1, 2, 3])
    with pytest.raises(InputError, match="see the measured values"):
        fit_posynomial({"channels": [1, 2]}, [1, float("nan")], [{}])
    with pytest.raises(InputError, match="3 measurements do not determine a monomial of side, channels"):
        fit_monomial({"side": [5, 5, 5], "channels": [1, 2, 3]}, [1, 2, 3])
