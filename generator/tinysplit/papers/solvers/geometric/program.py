"""The geometric program of one penalty weight a layer, in cvxpy's disciplined geometric programming.

    minimise    sum over layers of cost + alpha / h̄(c, ĉ)
    subject to  sum over devices of c / C <= 1 in each layer, resources <= limits on each device,
                c / C of some layers the same on each device (an equality of monomials)

c: channels by device, C: channels of the layer, h̄: the sum of shares c / C condensed to a monomial at the start ĉ
(Carballo-Hernández 2023, formulas 5, 6, 10 and 14). Weights and start are parameters: a new step compiles nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from math import prod
from typing import Any
from warnings import catch_warnings, simplefilter

from tinysplit.common.errors import CheckFailedError, ToolError, one_line
from tinysplit.common.extras import install_line
from tinysplit.papers.solvers.geometric.posynomial import ZERO, Posynomial
from tinysplit.papers.solvers.geometric.problem import CHANNELS, Division, DivisionProblem

Expression = Any  # of cvxpy, which is imported when a program is built and has no types that mypy could check


@dataclass(frozen=True)
class Formulation:
    """What of the published formulation is used, beside the problem.

    `min_channels`: least channels of every part of all layers; 0 for no bound beyond being positive.
    `communication_k`: transfers are multiplied by S(share) = share^(2k) (formula 13); None charges them in full.
    `is_formula_8`: the penalty as printed in formula 8, without dividing each share by its exponent as formula 5 does.
    """

    min_channels: float = 0.0
    communication_k: int | None = None
    is_formula_8: bool = False


class GeometricProgram:
    """The program of a problem, solved again for each step of the tightening.

    Raises:
        ToolError: cvxpy is not installed.
    """

    def __init__(self, problem: DivisionProblem, formulation: Formulation) -> None:
        self.problem = problem
        self.formulation = formulation
        self.cvxpy = _cvxpy()
        size = len(problem.devices)
        self.channels = [self.cvxpy.Variable(size, pos=True) for _ in problem.layers]
        self.coefficients = [self.cvxpy.Parameter(pos=True) for _ in problem.layers]  # of the penalty terms
        self.exponents = [[self.cvxpy.Parameter() for _ in range(size)] for _ in problem.layers]

    def solve(self, weights: Sequence[float], start: Division) -> Division:
        """Return the optimal channels, not rounded, for one penalty weight a layer, condensed at `start`.

        Raises:
            CheckFailedError: no division is within limits and lower bounds.
        """
        for layer, weight in enumerate(weights):
            exponents = [channels / sum(start[layer]) for channels in start[layer]]
            scale = 1.0 if self.formulation.is_formula_8 else prod(e**e for e in exponents)
            self.coefficients[layer].value = weight * scale
            for parameter, exponent in zip(self.exponents[layer], exponents, strict=True):
                parameter.value = -exponent
        self._solve()
        return tuple(tuple(map(float, channels.value)) for channels in self.channels)

    def _solve(self) -> None:
        try:
            with catch_warnings():
                simplefilter("ignore", UserWarning)  # cvxpy's, about the last digits: parts are rounded to channels
                self._program.solve(gp=True, solver=self.cvxpy.CLARABEL)
        except self.cvxpy.SolverError as error:
            raise CheckFailedError(
                f"the geometric program of {self._layers} was not solved: {one_line(error)}"
            ) from None
        if self._program.status not in {self.cvxpy.OPTIMAL, self.cvxpy.OPTIMAL_INACCURATE}:
            raise CheckFailedError(self._why_not())

    @cached_property
    def _program(self) -> Any:  # noqa: ANN401 (cvxpy's problem)
        costs = [self._cost(layer) + self._penalty(layer) for layer in range(len(self.problem.layers))]
        return self.cvxpy.Problem(
            self.cvxpy.Minimize(sum(costs)), [*self._equalities(), *self._bounds(), *self._limits()]
        )

    def _cost(self, layer: int) -> Expression:
        """Return the posynomial of a layer's cost; the maximum of its parts is a generalised posynomial."""
        parts = []
        for device in range(len(self.problem.devices)):
            costs, transfers = self.problem.costs(layer, device), self.problem.transfers(layer, device)
            part = self._expression(costs.compute, layer, device)
            if not transfers.is_zero:
                part += self._communication_weight(layer, device) * self._expression(transfers, layer, device)
            parts.append(part)
        return self.cvxpy.maximum(*parts) if self.problem.takes_slowest and len(parts) > 1 else sum(parts)

    def _communication_weight(self, layer: int, device: int) -> Expression:
        k = self.formulation.communication_k
        return 1.0 if k is None else (self.channels[layer][device] / self.problem.layers[layer].channels) ** (2 * k)

    def _penalty(self, layer: int) -> Expression:
        shares = self._shares(layer)
        powers = (shares[device] ** exponent for device, exponent in enumerate(self.exponents[layer]))
        return prod(powers, start=self.coefficients[layer])

    def _shares(self, layer: int) -> Expression:
        return self.channels[layer] / self.problem.layers[layer].channels

    def _equalities(self) -> list[Expression]:
        layers = zip(self.problem.layers, self.channels, strict=True)
        same = ((self._shares(layer), self._shares(other)) for layer, other in self.problem.same_shares)
        return [
            *(self.cvxpy.sum(channels) / layer.channels <= 1 for layer, channels in layers),
            *(shares == others for shares, others in same),
        ]

    def _bounds(self) -> list[Expression]:
        least = (max(self.formulation.min_channels, layer.min_channels) for layer in self.problem.layers)
        return [channels >= bound for channels, bound in zip(self.channels, least, strict=True) if bound]

    def _limits(self) -> list[Expression]:
        limits = []
        for number, device in enumerate(self.problem.devices):
            for resource, limit in device.limits.items():
                models = [layer.parts[number].resources.get(resource, ZERO) for layer in self.problem.layers]
                used = [self._expression(m, layer, number) for layer, m in enumerate(models) if not m.is_zero]
                limits += [sum(used) <= limit] if used else []
        return limits

    def _expression(self, model: Posynomial, layer: int, device: int) -> Expression:
        x = self.channels[layer][device]
        return sum(term.coefficient * x ** term.exponents.get(CHANNELS, 0) for term in model.terms)

    @property
    def _layers(self) -> str:
        return ", ".join(layer.name for layer in self.problem.layers)

    def _why_not(self) -> str:
        least = self.formulation.min_channels
        return (
            f"no division of {self._layers} leaves every device a part"
            f"{f' of at least {least:g} channels' if least else ''} within its limits, "
            "and a geometric program cannot leave a device out: leave it out of the problem"
        )


def _cvxpy() -> Any:  # noqa: ANN401 (a module)
    try:
        return import_module("cvxpy")
    except ImportError:
        raise ToolError(f"geometric programs need cvxpy: {install_line('geometric')}") from None
