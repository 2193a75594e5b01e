"""Underestimates of what the layers that are left cost, and devices that can change places."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite
from operator import add, mul

from tinysplit.split.problem import Assignment, LayerCosts, Problem
from tinysplit.split.topology import Hop, Links, pair_of

PRICE_STEPS = 100
FIRST_STRIDE = 1.0  # of the bound
SHORTENING = 0.95  # where a step did not raise the bound
CANCELLED = 1e-13  # of what is subtracted from each other: what rounding may add to the difference

Table = list[list[float]]


class LatencyBound:
    """The cheapest rest with unlimited flash, with and without prices for flash, whichever is more.

    Where flash just suffices prices may grow without end, and the rest and the price of what is free nearly cancel:
    the priced rest is less by what rounding may add to it then.
    """

    def __init__(self, problem: Problem) -> None:
        self.rest = unlimited_flash(problem)
        self.prices = flash_prices(problem)
        priced_rest = unlimited_flash(problem, self.prices)
        paid = sum(price * device.flash_bytes for price, device in zip(self.prices, problem.devices, strict=True))
        slack = CANCELLED * (paid + min(priced_rest[0])) if paid else 0.0
        self.priced_rest = [[value - slack for value in row] for row in priced_rest]

    def of(self, n_done: int, device: int, latency: float, free_flash: Sequence[int]) -> float:
        """Return an underestimate of I after `n_done` layers that took `latency`, the last of them on `device`."""
        priced: float = self.priced_rest[n_done][device] - sum(map(mul, free_flash, self.prices))
        return latency + max(self.rest[n_done][device], priced)


class FlashLeft:
    """Flash that the layers left take, by layers done: on each device if it took all of them, and at least in all."""

    def __init__(self, problem: Problem) -> None:
        self._all_on = [(0,) * len(problem.devices)]
        self._least = [0]
        for layer, least in zip(reversed(problem.layers), reversed(problem.least_flash_bytes), strict=True):
            self._all_on.insert(0, tuple(map(add, self._all_on[0], layer.flash_bytes)))
            self._least.insert(0, self._least[0] + least)

    def is_too_much(self, n_done: int, free: Sequence[int]) -> bool:
        """Return whether the flash that is free cannot hold the layers left."""
        return sum(free) < self._least[n_done]

    def needed(self, n_done: int, free: Sequence[int]) -> tuple[int, ...]:
        """Return what counts of the free flash: on no device more than all the layers left take there."""
        return tuple(map(min, free, self._all_on[n_done]))


def fastest_devices(problem: Problem) -> Table:
    """Return [layers done][device of the last]: each layer left on its fastest device, without transfers (seed 000)."""
    rest = [0.0]
    for seconds in reversed(problem.usable_seconds):
        rest.insert(0, rest[0] + min(seconds))
    return [[value] * len(problem.devices) for value in rest]


def unlimited_flash(problem: Problem, prices: Sequence[float] | None = None) -> Table:
    """Return [layers done][device of the last]: the cheapest way through what is left if all flash were unlimited.

    Each byte of flash on a device costs its price in seconds, nothing without `prices`.
    """
    devices = range(len(problem.devices))
    prices = prices or [0.0] * len(devices)
    no_transfer = ((0.0,) * len(devices),) * len(devices)
    before = (no_transfer, *problem.transfer_seconds[:-1])  # transfers before each layer
    rest = [[0.0] * len(devices)]
    for layer, seconds, transfer in zip(
        reversed(problem.layers), reversed(problem.usable_seconds), reversed(before), strict=True
    ):
        onward = [seconds[h] + layer.flash_bytes[h] * prices[h] + rest[-1][h] for h in devices]
        rest.append([min(transfer[device][h] + onward[h] for h in devices) for device in devices])
    return rest[::-1]


def flash_prices(problem: Problem) -> list[float]:
    """Return seconds a byte of flash on each device that make the priced bound of the whole problem nearly greatest.

    Lagrangian relaxation: I >= (cheapest way with prices and unlimited flash) - prices * flash of the devices, for any
    prices. Subgradient ascent: what is overfull becomes dearer, what has room becomes cheaper.
    """
    limits = [device.flash_bytes for device in problem.devices]
    prices = best_prices = [0.0] * len(limits)
    best, stride = -inf, FIRST_STRIDE
    for _ in range(PRICE_STEPS):
        rest = unlimited_flash(problem, prices)
        bound = min(rest[0]) - sum(map(mul, prices, limits))
        if bound > best:
            best, best_prices = bound, prices
        else:
            stride *= SHORTENING
        excess = [use - limit for use, limit in zip(_flash_of_cheapest(problem, prices, rest), limits, strict=True)]
        is_optimal = not any(e > 0 or (price and e) for e, price in zip(excess, prices, strict=True))
        if is_optimal or not best or not isfinite(bound):
            break
        step = stride * best / sum(e * e for e in excess)
        prices = [max(0.0, price + step * e) for price, e in zip(prices, excess, strict=True)]
    return best_prices


def _flash_of_cheapest(problem: Problem, prices: Sequence[float], rest: Table) -> list[int]:
    """Return the flash of every device on the way that `rest` is the cost of."""
    flash_bytes = [0] * len(prices)
    for layer, device in zip(problem.layers, cheapest_way(problem, prices, rest), strict=True):
        flash_bytes[device] += layer.flash_bytes[device]
    return flash_bytes


def cheapest_way(problem: Problem, prices: Sequence[float], rest: Table) -> Assignment:
    """Return the way that `rest`, made by `unlimited_flash` with these prices, is the cost of."""
    way: list[int] = []
    transfer = (0.0,) * len(prices)
    for number, layer in enumerate(problem.layers):
        onward = [
            transfer[h] + problem.usable_seconds[number][h] + layer.flash_bytes[h] * prices[h] + rest[number + 1][h]
            for h in range(len(prices))
        ]
        way.append(onward.index(min(onward)))
        transfer = problem.transfer_seconds[number][way[-1]]
    return tuple(way)


def earlier_twins(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return for each device those before it that could change places with it and no cost would change."""
    devices = range(len(problem.devices))
    return tuple(tuple(twin for twin in range(device) if _are_twins(problem, twin, device)) for device in devices)


def _are_twins(problem: Problem, a: int, b: int) -> bool:
    if problem.devices[a] != replace(problem.devices[b], name=problem.devices[a].name):
        return False
    if problem.host_seconds and problem.host_seconds[a] != problem.host_seconds[b]:
        return False
    swapped = list(range(len(problem.devices)))
    swapped[a], swapped[b] = b, a
    return (
        all(_costs(layer, a) == _costs(layer, b) for layer in problem.layers)
        and all(
            table[i][h] == table[swapped[i]][swapped[h]]
            for table in problem.transfer_seconds
            for i in (a, b)
            for h in swapped
        )
        and (problem.links is None or _are_linked_alike(problem.links, swapped))
    )


def _costs(layer: LayerCosts, device: int) -> tuple[int, int, float]:
    return layer.flash_bytes[device], layer.ram_bytes[device], layer.seconds[device]


def _are_linked_alike(links: Links, swapped: Sequence[int]) -> bool:
    """Return whether all ways and half-duplex links stay the same if each device is replaced by its `swapped`."""
    return links.half_duplex == {pair_of(swapped[i], swapped[h]) for i, h in links.half_duplex} and all(
        way_to == tuple(Hop(swapped[hop.sender], swapped[hop.receiver], hop.seconds) for hop in routes[i][h])
        for routes in links.routes
        for i, row in enumerate(swapped)
        for h, way_to in enumerate(routes[row][k] for k in swapped)
    )
