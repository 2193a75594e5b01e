"""Checks of a problem: negative or undefined costs, cycles, and limits that exclude every split."""

from collections.abc import Sequence
from math import inf

from tinysplit.common.errors import InputError, UsageError
from tinysplit.settings.costs import MAX_ENERGY, MAX_LATENCY, MAX_PERIOD
from tinysplit.timing.topology import NETWORK_INPUT

MAX_DEVICES = 64


def check_boards(n_boards: int) -> None:
    """Raise UsageError for more boards than a split has."""
    if n_boards > MAX_DEVICES:
        raise UsageError(f"{n_boards} boards are too many: a split has at most {MAX_DEVICES}")


def check_size(n_layers: int, n_devices: int, n_transfer_tables: int) -> None:
    """Raise InputError without layers, devices or a transfer table per layer."""
    if not n_layers or not n_devices:
        raise InputError(f"nothing to split: {n_layers} layers on {n_devices} boards")
    if n_transfer_tables != n_layers:
        raise InputError(f"{n_transfer_tables} transfer tables for {n_layers} layers")


def check_costs(
    name: str,
    out_bytes: int,
    costs: Sequence[Sequence[float]],
    transfer_seconds: Sequence[Sequence[float]],
    n_devices: int,
) -> None:
    """Raise InputError for a cost of layer `name` that is missing, negative or undefined.

    Every row of `costs` and `transfer_seconds` has one entry per device; `transfer_seconds` is [sender][receiver].
    """
    rows = (*costs, *transfer_seconds)
    if len(transfer_seconds) != n_devices or any(len(row) != n_devices for row in rows):
        raise InputError(f"layer {name!r} lacks costs for some of the {n_devices} boards")
    if not all(number >= 0 for number in (out_bytes, *(number for row in rows for number in row))):  # false for NaN
        raise InputError(f"layer {name!r} has a negative or undefined cost")
    if any(transfer_seconds[device][device] for device in range(n_devices)):
        raise InputError(f"layer {name!r} has a transfer cost from a board to itself")


def check_order(names: Sequence[str], predecessors: Sequence[Sequence[int]], readers: Sequence[Sequence[int]]) -> None:
    """Raise InputError for a cycle, a layer without input, or an output other than the last that no layer reads."""
    for number, (name, inputs) in enumerate(zip(names, predecessors, strict=True)):
        late = next((tensor for tensor in inputs if tensor >= number), None)
        if late is not None:
            what = names[late] if late < len(names) else late
            raise InputError(f"layer {name!r} reads {what!r}, which does not precede it: a cycle")
        if not inputs or min(inputs) < NETWORK_INPUT:
            raise InputError(f"layer {name!r} reads no existing tensor: name its inputs")
    unread = next((layer for layer in range(len(names) - 1) if not readers[layer]), None)
    if unread is not None:
        raise InputError(f"no layer reads the output of layer {names[unread]!r}: remove it")


def check_power(name: str, run_w: float, transfer_w: float, idle_w: float) -> None:
    """Raise InputError unless all powers of device `name` are finite and idle power is the lowest."""
    if not 0 <= idle_w <= min(run_w, transfer_w) < inf:  # also false for NaN
        raise InputError(
            f"{name}: {run_w:g} W running, {transfer_w:g} W transferring, {idle_w:g} W idle: powers must be "
            "finite, and idle power the lowest"
        )


def check_limits(max_latency_s: float, max_period_s: float, max_energy_j: float, frame_period_s: float) -> None:
    """Raise UsageError for a limit that no split can meet."""
    for setting, what, limit in (
        (MAX_LATENCY, "latency of {:g} s", max_latency_s),
        (MAX_PERIOD, "period of {:g} s", max_period_s),
        (MAX_ENERGY, "energy of {:g} J", max_energy_j),
    ):
        if not limit > 0:  # also true for NaN
            raise UsageError(f"a maximum {what.format(limit)} excludes every split: it must be positive", setting)
    if not 0 <= frame_period_s < inf:
        raise UsageError(f"an input every {frame_period_s:g} s: the time must be finite and positive")
