"""What a problem may not contain: costs below zero or undefined, cycles, and limits that leave nothing."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from tinysplit.common.errors import InputError, UsageError
from tinysplit.split.evaluate.ram import NETWORK_INPUT

if TYPE_CHECKING:
    from tinysplit.split.problem import LayerCosts, Problem

MAX_DEVICES = 64


def check_problem(problem: "Problem") -> None:
    """Raise InputError for missing, negative or undefined costs and for cycles, UsageError for useless limits."""
    if not problem.layers or not problem.devices:
        raise InputError(f"nothing to split: {len(problem.layers)} layers on {len(problem.devices)} boards")
    n_devices = len(problem.devices)
    if n_devices > MAX_DEVICES:
        raise UsageError(f"{n_devices} boards are more than the {MAX_DEVICES} that a split can have: leave some out")
    if len(problem.transfer_seconds) != len(problem.layers):
        raise InputError(f"{len(problem.transfer_seconds)} transfer tables for {len(problem.layers)} layers")
    for layer, table in zip(problem.layers, problem.transfer_seconds, strict=True):
        _check_layer(layer, table, n_devices)
    _check_order(problem)
    for device in problem.devices:
        if not 0 <= device.idle_w <= min(device.run_w, device.transfer_w) < inf:  # also false for NaN
            raise InputError(
                f"{device.name}: {device.run_w:g} W running, {device.transfer_w:g} W transferring, {device.idle_w:g} W "
                "idle: these have to be finite, and idle the least"
            )
    for what, limit in (
        ("latency of {:g} s", problem.max_latency_s),
        ("period of {:g} s", problem.max_period_s),
        ("energy of {:g} J", problem.max_energy_j),
    ):
        if not limit > 0:  # also true for NaN
            raise UsageError(f"a largest {what.format(limit)} leaves no split: name one above zero")
    if not 0 <= problem.frame_period_s < inf:
        raise UsageError(f"inputs every {problem.frame_period_s:g} s: name a time above zero")


def _check_layer(layer: "LayerCosts", table: Sequence[Sequence[float]], n_devices: int) -> None:
    rows = (layer.seconds, layer.flash_bytes, layer.ram_bytes, *table)
    if len(table) != n_devices or any(len(row) != n_devices for row in rows):
        raise InputError(f"layer {layer.name!r} has no cost for each of the {n_devices} boards")
    numbers = (layer.out_bytes, *(number for row in rows for number in row))
    if not all(number >= 0 for number in numbers):  # also false for NaN
        raise InputError(f"layer {layer.name!r} has a cost below zero or undefined")
    if any(table[device][device] for device in range(n_devices)):
        raise InputError(f"layer {layer.name!r} has a transfer cost from a board to itself")


def _check_order(problem: "Problem") -> None:
    """Refuse cycles, and layers whose output nobody reads: only the last one gives the network's output."""
    for number, (layer, inputs) in enumerate(zip(problem.layers, problem.predecessors, strict=True)):
        late = next((tensor for tensor in inputs if tensor >= number), None)
        if late is not None:
            what = problem.layers[late].name if late < len(problem.layers) else late
            raise InputError(f"layer {layer.name!r} reads {what!r}, which does not come before it: a cycle")
        if not inputs or min(inputs) < NETWORK_INPUT:
            raise InputError(f"layer {layer.name!r} reads nothing that exists: name its inputs")
    unread = next((k for k, readers in enumerate(problem.readers[:-2]) if not readers), None)
    if unread is not None:
        raise InputError(f"nothing reads the output of layer {problem.layers[unread].name!r}: leave it out")
