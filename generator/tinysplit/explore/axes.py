"""Axes of Pareto fronts."""

from collections.abc import Sequence
from enum import StrEnum

from tinysplit.common.choices import SecondObjective


class Axis(StrEnum):
    """A quantity to minimise; power is the mean power of all boards together."""

    LATENCY = "latency"
    PERIOD = "period"
    ENERGY = "energy"
    POWER = "power"
    PRICE = "price"


DEFAULT_AXES = (Axis.LATENCY, Axis.ENERGY, Axis.PRICE)


def second_objectives(axes: Sequence[Axis]) -> tuple[SecondObjective, ...]:
    """Return the second objectives of the fronts that are searched on each set of boards, latency being the first."""
    wanted = {
        SecondObjective.ENERGY: {Axis.ENERGY, Axis.POWER},
        SecondObjective.THROUGHPUT: {Axis.PERIOD, Axis.POWER},
    }
    return tuple(each for each, by in wanted.items() if by & set(axes)) or (SecondObjective.ENERGY,)
