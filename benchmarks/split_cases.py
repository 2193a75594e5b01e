"""Instances for the solvers, generated from seeds."""

import random
from dataclasses import dataclass

from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem

ROOM = 1.2  # total flash of the boards, relative to that of the layers
SLOW, FAST = 115200, 3_000_000


@dataclass(frozen=True)
class Case:
    """The parameters that an instance is generated from."""

    n_layers: int
    n_devices: int
    baud: int
    seed: int
    objective: Objective = Objective.LATENCY
    time_limit_s: float = 10.0

    def problem(self) -> Problem:
        """Return a network like MobileNet on boards with little free flash.

        Depthwise and pointwise layers take turns; from the first layer to the last tensors shrink from 32 KB to 1 KB
        and pointwise weights grow from 1.5 KB to 48 KB, all within a random half; boards differ by up to 25 times in
        speed and 3 times in flash, and have RAM for everything. A cut costs 10 bit times per byte.
        """
        rng = random.Random(self.seed)  # noqa: S311 (no secret)
        cycles_a_second = [10 ** rng.uniform(6.5, 7.9) for _ in range(self.n_devices)]
        layers = []
        for number in range(self.n_layers):
            depth, is_pointwise = number / (self.n_layers - 1), number % 2 == 1
            out_bytes = int(32768 * (1 / 32) ** depth * rng.uniform(0.5, 1.5))
            flash_bytes = 400 + int((1500 * 32**depth if is_pointwise else 1000) * rng.uniform(0.5, 1.5))
            cycles = (300e3 if is_pointwise else 30e3) * rng.uniform(0.3, 1.7)
            seconds = tuple(cycles / speed for speed in cycles_a_second)
            layers.append(LayerCosts.alike(f"layer{number + 1}", flash_bytes, out_bytes, out_bytes, seconds))
        sizes = [rng.uniform(0.5, 1.5) for _ in range(self.n_devices)]
        scale = ROOM * sum(layer.flash_bytes[0] for layer in layers) / sum(sizes)
        devices = tuple(DeviceLimits(f"board{i + 1}", int(size * scale), 10**9) for i, size in enumerate(sizes))
        transfers = tuple(
            tuple(
                tuple(0.0 if i == h else layer.out_bytes * 10 / self.baud for h in range(self.n_devices))
                for i in range(self.n_devices)
            )
            for layer in layers
        )
        return Problem(tuple(layers), devices, transfers, self.objective)
