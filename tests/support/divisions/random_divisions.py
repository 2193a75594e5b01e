"""Random layers to be divided over devices, and all divisions of one."""

import random
from collections.abc import Iterator
from itertools import product

from tinysplit.papers.solvers.geometric.posynomial import Posynomial
from tinysplit.papers.solvers.geometric.problem import (
    CHANNELS,
    DividedLayer,
    DivisionCosts,
    DivisionDevice,
    DivisionProblem,
    PartModel,
)


def random_division_problem(rng: random.Random, *, largest: int = 10, is_limited: bool = True) -> DivisionProblem:
    """Return one layer of up to `largest` channels on two to four devices that together have room for it."""
    channels, size = rng.randint(1, largest), rng.randint(2, 4)
    devices = tuple(DivisionDevice(f"device{n}", {"flash": float(rng.randint(0, channels))}) for n in range(1, size))
    parts = tuple(_part(rng, with_limits=is_limited and number > 0) for number in range(size))
    return DivisionProblem(
        devices=(
            DivisionDevice("device0"),
            *(devices if is_limited else (DivisionDevice(device.name) for device in devices)),
        ),
        layers=(DividedLayer("conv1", channels, parts),),
        side_by_side=rng.random() < 0.5,
        counts_outputs=rng.random() < 0.5,
    )


def _part(rng: random.Random, *, with_limits: bool) -> PartModel:
    costs = DivisionCosts(
        compute=Posynomial.of_powers(CHANNELS, (rng.choice((0, 0.1)), rng.uniform(0.5, 9), rng.choice((0, 1, 20)))),
        inputs=Posynomial.of_powers(CHANNELS, (rng.choice((0, 1)), rng.choice((0, 5)))),
        outputs=Posynomial.of_powers(CHANNELS, (rng.choice((0, 1)), rng.choice((0, 5)))),
    )
    flash = {"flash": Posynomial.of_powers(CHANNELS, (1, 0))}
    return PartModel(costs, resources=flash if with_limits else {})


def all_divisions(problem: DivisionProblem) -> Iterator[tuple[int, ...]]:
    """Yield every division of the channels of the first layer into whole parts, within the limits or not."""
    channels = problem.layers[0].channels
    for parts in product(range(channels + 1), repeat=len(problem.devices) - 1):
        if sum(parts) <= channels:
            yield (channels - sum(parts), *parts)
