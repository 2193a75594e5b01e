"""Chains to split: one by hand, random ones of any size, and a Hypothesis strategy for small ones."""

import random
from dataclasses import replace
from math import inf

from hypothesis import strategies as st

from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem

Transfers = tuple[tuple[tuple[float, ...], ...], ...]


def equal_links(layers: tuple[LayerCosts, ...], n_devices: int, seconds_per_byte: float) -> Transfers:
    def row(layer: LayerCosts, sender: int) -> tuple[float, ...]:
        return tuple(0.0 if sender == h else layer.out_bytes * seconds_per_byte for h in range(n_devices))

    return tuple(tuple(row(layer, sender) for sender in range(n_devices)) for layer in layers)


def by_hand() -> Problem:
    """Three layers, a fast small board and a slow large one; a cut costs 1 s, 0.5 s behind layer 2."""
    layers = (
        LayerCosts.alike("a", 40, 10, 2, (1.0, 3.0)),
        LayerCosts.alike("b", 70, 10, 1, (1.0, 2.0)),
        LayerCosts.alike("c", 50, 10, 1, (1.0, 4.0)),
    )
    devices = (DeviceLimits("fast", 100, 10), DeviceLimits("slow", 200, 20))
    return Problem(layers, devices, equal_links(layers, 2, 0.5))


def random_chain(n: int, d: int, tightness: float, seed: int) -> Problem:
    """Random layers and devices; the flash of all devices together is `tightness` times what the layers need."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    macc = [rng.randint(1, 1000) * 1000 for _ in range(n)]
    speeds = [rng.uniform(1e6, 8e7) for _ in range(d)]
    layers = tuple(
        LayerCosts.alike(
            f"l{k}", rng.randint(100, 60000), 1, rng.randint(100, 16000), tuple(macc[k] / s for s in speeds)
        )
        for k in range(n)
    )
    sizes = [rng.uniform(0.5, 1.5) for _ in range(d)]
    scale = tightness * sum(layer.flash_bytes[0] for layer in layers) / sum(sizes)
    devices = tuple(DeviceLimits(f"b{k}", int(size * scale), 1) for k, size in enumerate(sizes))
    return Problem(layers, devices, equal_links(layers, d, 10 / 115200))


def large_chain(n: int, d: int, seed: int) -> Problem:
    """Random layers on boards of very different speeds whose flash is a fifth more than needed."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    speeds = [10 ** rng.uniform(6.5, 7.9) for _ in range(d)]
    layers = tuple(
        LayerCosts.alike(
            f"l{k}", rng.randint(500, 20000), 1, rng.randint(500, 16000), tuple(rng.random() * 1e6 / s for s in speeds)
        )
        for k in range(n)
    )
    needed = sum(layer.flash_bytes[0] for layer in layers)
    sizes = [rng.uniform(0.5, 1.5) for _ in range(d)]
    devices = tuple(DeviceLimits(f"b{k}", int(1.2 * needed * size / sum(sizes)), 1) for k, size in enumerate(sizes))
    transfers = tuple(
        tuple(tuple(0.0 if i == h else layer.out_bytes * 1e-5 for h in range(d)) for i in range(d)) for layer in layers
    )
    return Problem(layers, devices, transfers)


def with_power(problem: Problem, idle_w: float) -> Problem:
    """Return `problem` with energy as objective, each board drawing more power than the one before it."""
    devices = tuple(
        replace(device, run_w=0.1 + 0.1 * k + idle_w, transfer_w=0.05 + idle_w, idle_w=idle_w)
        for k, device in enumerate(problem.devices)
    )
    return replace(problem, devices=devices, objective=Objective.ENERGY)


@st.composite
def chains(draw: st.DrawFn) -> Problem:
    """Chains of up to 4^5 or 2^8 candidates, with ties, zeros, infinities, twins and memories that just fit."""
    d = draw(st.integers(1, 4))
    n = draw(st.integers(1, {1: 8, 2: 8, 3: 6, 4: 5}[d]))
    tied = st.sampled_from([0.0, 1.0, 2.0, 3.0])
    time = draw(st.sampled_from([tied, st.floats(0.001, 10), st.one_of(tied, tied, tied, st.just(inf))]))
    identical = draw(st.booleans())

    def seconds() -> tuple[float, ...]:
        return (draw(time),) * d if identical else tuple(draw(st.lists(time, min_size=d, max_size=d)))

    def sizes(least: int, most: int) -> tuple[int, ...]:
        size = st.integers(least, most)
        return (draw(size),) * d if identical else tuple(draw(st.lists(size, min_size=d, max_size=d)))

    # An input and an output of 9 bytes take 24 bytes of RAM.
    layers = tuple(
        LayerCosts(f"l{k}", sizes(0, 20), sizes(24, 34), draw(st.integers(0, 9)), seconds()) for k in range(n)
    )
    total = sum(layer.flash_bytes[0] for layer in layers)
    flash = st.integers(total // d, total // d + 12) if draw(st.booleans()) else st.just(total)
    ram = st.sampled_from([34, 34, 33, 30])
    limits = (draw(flash), draw(ram))
    devices = tuple(DeviceLimits(f"b{k}", *(limits if identical else (draw(flash), draw(ram)))) for k in range(d))
    transfers = equal_links(layers, d, draw(st.sampled_from([0.0, 0.1, 1.0])))
    if not identical:
        transfers = tuple(
            tuple(tuple(0.0 if i == h else draw(time) for h in range(d)) for i in range(d)) for _ in layers
        )
    joined = draw(st.frozensets(st.integers(0, n - 2))) if n > 1 else frozenset()
    return Problem(layers, devices, transfers, must_use_all=draw(st.booleans()), joined=joined)
