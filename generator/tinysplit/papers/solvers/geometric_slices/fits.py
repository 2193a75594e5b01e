"""Models of what parts take, fitted to costs at several sizes of a part, and how well they fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import override

from tinysplit.common.units import PERCENT
from tinysplit.papers.solvers.geometric.fit import Fit, fit_monomial, fit_posynomial, formula
from tinysplit.papers.solvers.geometric.posynomial import ZERO, Posynomial
from tinysplit.papers.solvers.geometric.problem import CHANNELS
from tinysplit.slices.exact.problem import Floats

MOST_SIZES = 10
LINEAR: tuple[Mapping[str, float], ...] = ({CHANNELS: 1.0}, {})


class Modelled(NamedTuple):
    """What a model is of: for example "compute" of "conv1 on nucleo_g071rb"."""

    what: str
    part: str


@dataclass
class Fits:
    """The fits so far: each is made once."""

    found: dict[Modelled, Fit] = field(default_factory=dict)

    def model(self, of: Modelled, size: int, costs: Callable[[list[int]], Floats]) -> Posynomial:
        """Return what a part of `size` rows or channels, or fewer, takes; `costs` gives that for some sizes.

        Of a monomial and of a linear function without a negative coefficient, it is the one with the smaller largest
        error. What takes nothing at any size is the posynomial 0.
        """
        if of not in self.found:
            sizes = sizes_up_to(size)
            values = costs(sizes)
            is_cost = values > 0
            if not is_cost.any():
                return ZERO
            self.found[of] = _best_fit(np.array(sizes, float)[is_cost], values[is_cost])
        return self.found[of].model

    def worst(self) -> Mapping[str, tuple[Modelled, Fit]]:
        """Return, of each kind of model, the one with the largest error."""
        worst: dict[str, tuple[Modelled, Fit]] = {}
        for of, fit in self.found.items():
            if of.what not in worst or fit.largest_error > worst[of.what][1].largest_error:
                worst[of.what] = (of, fit)
        return worst

    @override
    def __str__(self) -> str:
        largest = (
            f"{what} {PERCENT * fit.largest_error:.1f} % ({of.part})" for what, (of, fit) in self.worst().items()
        )
        return f"{len(self.found)} models of parts, largest relative error of each kind: {', '.join(largest)}"

    def to_json(self) -> list[dict[str, Any]]:
        """Return each model with its formula, in seconds, joules or bytes, and its largest relative error."""
        return [
            {
                "what": of.what,
                "part": of.part,
                "formula": formula(fit.model),
                "points": len(fit.measured),
                "largest_error": fit.largest_error,
            }
            for of, fit in self.found.items()
        ]


def sizes_up_to(size: int) -> list[int]:
    """Return sizes of parts from 1 to `size`, in about equal ratios."""
    return sorted({round(each) for each in np.geomspace(1, size, MOST_SIZES)})


def _best_fit(sizes: Floats, values: Floats) -> Fit:
    features = {CHANNELS: sizes}
    fits = [fit_posynomial(features, values, LINEAR)]
    if len(sizes) > 1:
        fits.append(fit_monomial(features, values))
    return min(fits, key=lambda fit: fit.largest_error)
