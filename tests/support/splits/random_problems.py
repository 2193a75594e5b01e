"""Random splitting problems small enough for brute force, and as tight as they can be."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from splits.brute_force import BruteForce
from tinysplit.split.problem import DeviceLimits, FusedLayers, LayerCosts, Objective, Period, Problem
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.topology import Links


@dataclass(frozen=True)
class Kinds:
    """What a random problem may have."""

    branches: bool = True
    links: bool = True  # absent ones, relays, half duplex
    energy: bool = True  # as objective or limit
    host: bool = True
    limits: bool = True
    fused: bool = False
    objectives: tuple[Objective, ...] = tuple(Objective)
    periods: tuple[Period, ...] = tuple(Period)


ALL_KINDS = Kinds()


def random_problem(seed: int, kinds: Kinds = ALL_KINDS) -> Problem:
    """Return a problem of at most 256 assignments; ties, infinities, memory that just fits."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    n_devices = rng.choice((1, 2, 2, 3, 3, 3, 4))
    n_layers = rng.randint(1, {1: 5, 2: 7, 3: 5, 4: 4}[n_devices])
    is_tied = rng.random() < 0.4
    is_alike = rng.random() < 0.2  # devices that can change places
    has_links = kinds.links and n_devices > 1 and rng.random() < 0.5

    def time() -> float:
        if is_tied:
            return rng.choice((0.0, 1.0, 1.0, 2.0, 3.0))
        return inf if rng.random() < 0.04 else rng.uniform(0.01, 3)

    has_branches = kinds.branches and rng.random() < 0.85
    layers = [
        replace(layer, seconds=(time(),) * n_devices if is_alike else tuple(time() for _ in range(n_devices)))
        for layer in _random_layers(rng, n_layers, n_devices, has_branches, is_alike=is_alike or rng.random() < 0.3)
    ]
    transfers = tuple(_random_table(n_devices, rng.choice((0.1, 1.0)), time, is_alike=is_alike) for _ in layers)
    links = _random_links(rng, n_layers, n_devices, is_alike=is_alike) if has_links else None
    has_power = kinds.energy and rng.random() < 0.6
    powers = [_random_power(rng) if has_power else (0.0, 0.0, 0.0) for _ in range(n_devices)]
    problem = Problem(
        tuple(layers),
        tuple(DeviceLimits(f"b{k}", 10**6, 10**6, *powers[0 if is_alike else k]) for k in range(n_devices)),
        links.transfer_seconds if links else transfers,
        objective=rng.choice([o for o in kinds.objectives if has_power or o is not Objective.ENERGY]),
        must_use_all=n_layers >= n_devices and rng.random() < 0.3,
        joined=_random_joined(rng, n_layers),
        period_definition=rng.choice(kinds.periods),
        links=links,
        host_seconds=_random_host(rng, n_devices, is_alike=is_alike) if kinds.host and rng.random() < 0.3 else (),
        input_bytes=rng.randint(0, 9),
    )
    if problem.period_definition is Period.FIRMWARE and rng.random() < 0.7:
        problem = replace(problem, handoff=_random_handoff(rng, problem, is_alike=is_alike))
    problem = replace(problem, fused=_random_fused(rng, problem, is_alike=is_alike) if kinds.fused else ())
    problem = replace(problem, devices=_random_memories(rng, problem, is_alike=is_alike))
    return _with_random_limits(rng, problem, kinds, has_power=has_power)


def _random_layers(
    rng: random.Random, n_layers: int, n_devices: int, branches: bool, *, is_alike: bool
) -> list[LayerCosts]:
    """Return layers without seconds, which need as much memory on every device only where they are alike."""
    inputs = [
        {rng.randrange(max(-1, k - 4), k) for _ in range(rng.choice((1, 1, 2, 3)))} if branches else {k - 1}
        for k in range(n_layers)
    ]
    for k in range(n_layers - 1):
        if not any(k in read for read in inputs):
            inputs[rng.randrange(k + 1, n_layers)].add(k)
    out_bytes = [rng.randint(0, 12) for _ in inputs]

    def by_device(least: int, most: int) -> tuple[int, ...]:
        drawn = [rng.randint(least, most) for _ in range(n_devices)]
        return tuple(drawn[:1] * n_devices if is_alike else drawn)

    def layer(k: int) -> LayerCosts:
        needed = sum((out_bytes[tensor] if tensor >= 0 else 9) + 3 for tensor in inputs[k]) + out_bytes[k] + 3
        read = tuple(inputs[k]) if branches else None
        return LayerCosts(f"l{k}", by_device(0, 9), by_device(needed, needed + 5), out_bytes[k], (), read)

    return list(map(layer, range(n_layers)))


def _random_table(
    n_devices: int, cost: float, time: Callable[[], float], *, is_alike: bool
) -> tuple[tuple[float, ...], ...]:
    same = time() if is_alike else 0.0

    def seconds(i: int, h: int) -> float:
        return 0.0 if i == h else cost * (same if is_alike else time())

    return tuple(tuple(seconds(i, h) for h in range(n_devices)) for i in range(n_devices))


def _random_links(rng: random.Random, n_layers: int, n_devices: int, *, is_alike: bool) -> Links:
    """Return links without ties: which of two equally fast ways is taken would be arbitrary.

    Where devices are alike all have a link with each other, which is faster than any other way.
    """
    pairs = [(i, h) for h in range(n_devices) for i in range(h)]
    absent = {pair for pair in pairs if rng.random() < 0.3}
    faster = {pair: rng.choice((0.2, 1.0)) for pair in pairs}

    same = [rng.uniform(0.01, 2) for _ in range(n_layers)]
    shared = {pair for pair in pairs if rng.random() < 0.4}

    def seconds(layer: int, i: int, h: int) -> float:
        pair = (min(i, h), max(i, h))
        if is_alike:
            return 0.0 if i == h else same[layer]
        return 0.0 if i == h else inf if pair in absent else faster[pair] * rng.uniform(0.01, 2)

    return Links(
        direct=tuple(
            tuple(tuple(seconds(layer, i, h) for h in range(n_devices)) for i in range(n_devices))
            for layer in range(n_layers)
        ),
        relays=tuple(tuple(rng.random() < 0.7 for _ in range(n_devices)) for _ in range(n_layers)),
        half_duplex=frozenset((pairs if shared else ()) if is_alike else shared),
    )


def _random_host(rng: random.Random, n_devices: int, *, is_alike: bool) -> tuple[tuple[float, float], ...]:
    host = [(rng.uniform(0, 1), rng.uniform(0, 1)) for _ in range(n_devices)]
    return tuple(host[0 if is_alike else k] for k in range(n_devices))


def _random_handoff(rng: random.Random, problem: Problem, *, is_alike: bool) -> Handoff:
    """Return transfers whose parts are small, or as long as layers."""
    n_devices, n_layers = len(problem.devices), len(problem.layers)
    largest = rng.choice((0.1, 0.1, 1.0))
    share = rng.choice((0.5, 1.0, 2.0))

    def row() -> tuple[float, ...]:
        return (
            (rng.uniform(0, largest),) * n_devices
            if is_alike
            else tuple(rng.uniform(0, largest) for _ in range(n_devices))
        )

    direct = problem.links.direct if problem.links else problem.transfer_seconds
    copy_s, send_s, receive_s = (tuple(row() for _ in range(n_layers + 1)) for _ in range(3))
    return Handoff(
        wire_s=tuple(tuple(tuple(share * s for s in line) for line in table) for table in direct),
        reply_s=(row(),) * n_devices,
        copy_s=copy_s,
        send_s=send_s,
        receive_s=receive_s,
        host_s=_random_host(rng, n_devices, is_alike=is_alike),
    )


def _random_joined(rng: random.Random, n_layers: int) -> frozenset[int]:
    """Return none, the last layer but one, or some layers that run on the device of the next one."""
    if rng.random() >= 0.2:
        return frozenset()
    last_two = range(n_layers - 1)[-1:]
    return frozenset(last_two if rng.random() < 0.5 else (k for k in range(n_layers - 1) if rng.random() < 0.5))


def _random_fused(rng: random.Random, problem: Problem, *, is_alike: bool) -> tuple[FusedLayers, ...]:
    """Return pairs of layers, none in two of them, which take less RAM on some devices where they are fused."""
    found: list[FusedLayers] = []
    for k in range(len(problem.layers) - 1):
        is_free = not found or found[-1].producer + 1 < k
        if is_free and problem.readers[k] == (k + 1,) and problem.predecessors[k + 1] == (k,) and rng.random() < 0.7:
            sizes = [
                [max(0, alone - rng.choice((0, 3, 8, 20))) for alone in layer.ram_bytes]
                for layer in problem.layers[k : k + 2]
            ]
            first, second = (tuple(own[:1] * len(own) if is_alike else own) for own in sizes)
            found.append(FusedLayers(k, first, second))
    return tuple(found)


def _random_power(rng: random.Random) -> tuple[float, float, float]:
    idle_w = rng.choice((0.0, 0.1, rng.uniform(0, 1)))
    return (idle_w + rng.uniform(0, 2), idle_w + rng.uniform(0, 1), idle_w)


def _random_memories(rng: random.Random, problem: Problem, *, is_alike: bool) -> tuple[DeviceLimits, ...]:
    """Return devices that just hold some assignment, or a few bytes more or less than that."""
    d = len(problem.devices)
    feasible = list(BruteForce(replace(problem, joined=frozenset())).feasible())
    _, found = rng.choice(feasible) if feasible else ((), BruteForce(problem).outcome((0,) * len(problem.layers)))
    extra_flash, extra_ram = (rng.choice((0, 3, 8, 20, 100)) for _ in range(2))
    limits = [
        (max(1, flash + extra_flash - (rng.random() < 0.05)), max(1, ram + extra_ram - (rng.random() < 0.05)))
        for flash, ram in zip(found.flash_bytes, found.ram_bytes, strict=True)
    ]
    most = (max(flash for flash, _ in limits), max(ram for _, ram in limits))
    return tuple(
        replace(device, flash_bytes=flash, ram_bytes=ram)
        for device, (flash, ram) in zip(problem.devices, [most] * d if is_alike else limits, strict=True)
    )


def _with_random_limits(rng: random.Random, problem: Problem, kinds: Kinds, *, has_power: bool) -> Problem:
    """Return `problem` with limits that one of its splits just keeps."""
    outcomes = [found for _, found in BruteForce(problem).feasible()]
    if not outcomes or not kinds.limits or rng.random() < 0.5:
        return problem
    found = rng.choice(outcomes)
    limits = replace(
        problem,
        max_latency_s=rng.choice((inf, inf, found.latency_s or inf)),
        max_period_s=rng.choice((inf, inf, found.period_s or inf)),
        frame_period_s=rng.choice((0.0, 0.0, found.period_s * rng.choice((1.0, 1.5)))),
    )
    outcomes = [found for _, found in BruteForce(limits).feasible()]
    if not outcomes or not has_power:
        return limits
    return replace(limits, max_energy_j=rng.choice((inf, inf, rng.choice(outcomes).energy_j or inf)))
