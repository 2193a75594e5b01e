"""Best-case analytical figures of a set of boards: no split on it has lower ones, analytical or simulated.

Phase 1 of an exploration prunes by them (`two_phase.py`). Every layer runs on the board that is best for it, fused and
without waiting for memory, and a tensor takes the time of its bits on the line only. As every board of the set runs a
layer, a tensor crosses to or from each of them, at least the one that does least harm.
"""

from collections.abc import Iterator, Sequence
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.explore.figures import Figures
from tinysplit.split.least_costs import with_least_of_all
from tinysplit.split.problem import Problem
from tinysplit.timing.topology import NETWORK_INPUT

Seconds = NDArray[np.float64]


NOWHERE = Figures(inf, inf, inf)
LEAST_SHARE = 0.75  # of what its share of a layer takes, for a part


def best_case(problem: Problem) -> Figures:
    """Return lower bounds for the splits of `problem` in which every device runs a layer; it has a link for each pair.

    The period is that of the firmware. Latency is counted without host transfers.
    """
    seconds, wire = _layer_seconds(problem), _wire_seconds(problem)
    has_places = np.isfinite(seconds.min(axis=1)).all() and np.isfinite(seconds.min(axis=0)).all()
    if not has_places or len(problem.layers) < len(problem.devices) or not _flash_suffices(problem):
        return NOWHERE
    period_s = _least_period_s(problem, seconds, wire)
    if not isfinite(period_s):
        return NOWHERE  # a device without a link
    return Figures(_least_latency_s(problem, seconds, wire), period_s, _least_energy_j(problem, seconds, period_s))


def best_case_of_copies(problem: Problem) -> Figures:
    """Return lower bounds for copies of the whole network on every device: its layers alone, without host and links."""
    whole_s = _layer_seconds(problem).sum(axis=0)
    flash_bytes = np.array([layer.flash_bytes for layer in with_least_of_all(problem).layers]).sum(axis=0)
    free_bytes = [device.flash_bytes + device.link_flash_bytes for device in problem.devices]
    if not np.isfinite(whole_s).all() or (flash_bytes > free_bytes).any():
        return NOWHERE
    energies_j = [device.run_w * own_s for device, own_s in zip(problem.devices, whole_s, strict=True)]
    return Figures(float(whole_s.max()), float(1 / (1 / whole_s).sum()), float(min(energies_j)))


def best_case_of_divisions(problem: Problem) -> Figures:
    """Return expected lower bounds for layers divided over every device: their work spread by speed, without links.

    A part may take less than its share of a layer: of some layers there are rows that nobody reads, and small parts may
    have faster kernels (`LEAST_SHARE`).
    """
    free = with_least_of_all(problem)
    seconds: Seconds = LEAST_SHARE * np.array([layer.seconds for layer in free.layers], np.float64)
    if not _flash_suffices(problem):
        return NOWHERE
    speeds = 1 / np.maximum(seconds, np.finfo(float).tiny)
    period_s = max(_spread_s(seconds), _host_s(problem))
    energy_j = _joules(problem, seconds).min(axis=1).sum() + _idle_j(problem, period_s)
    return Figures(float((1 / speeds.sum(axis=1)).sum()), period_s, float(energy_j))


def _layer_seconds(problem: Problem) -> Seconds:
    """Return the least seconds by [layer][device], infinite where the layer does not fit."""
    least = with_least_of_all(problem)
    seconds: Seconds = np.array([layer.seconds for layer in least.layers], np.float64)
    seconds[~np.isfinite(np.array(least.usable_seconds))] = inf
    return seconds


def _wire_seconds(problem: Problem) -> Seconds:
    """Return the least seconds of a cut by [layer][sender][receiver]: its time on the line, or as the solvers count."""
    wire: Seconds = np.minimum(np.array(problem.handoff_parts.wire_s), np.array(problem.transfer_seconds))
    return wire


def _flash_suffices(problem: Problem) -> bool:
    free = sum(device.flash_bytes + device.link_flash_bytes for device in problem.devices)
    return sum(with_least_of_all(problem).least_flash_bytes) <= free


def _least_latency_s(problem: Problem, seconds: Seconds, wire: Seconds) -> float:
    """Return the longest path through layers and cuts, or the work evenly spread.

    Each layer takes the best device for each of its readers. That is at most what it takes in a split: by induction
    along the paths. I begins when the last device has the input; others may have begun before by what the host's times
    differ.
    """
    feeding_s = [in_s for in_s, _ in problem.handoff_parts.host_s]
    earlier_s = max(feeding_s) - min(feeding_s)
    until = np.zeros_like(seconds)  # [layer][device]: from the input to the end of the layer
    for layer, inputs in enumerate(problem.predecessors):
        arrivals = [(until[each][:, None] + wire[each]).min(axis=0) for each in inputs if each != NETWORK_INPUT]
        until[layer] = seconds[layer] + np.max(arrivals, axis=0, initial=0.0)
    since = np.zeros_like(seconds)  # from the beginning of the layer to the output
    for layer in reversed(range(len(problem.layers))):
        rest = [(wire[layer] + since[each]).min(axis=1) for each in problem.readers[layer]]
        since[layer] = seconds[layer] + np.max(rest, axis=0, initial=0.0)
    path_s = until.min(axis=1).max()
    crossing = [until[layer][:, None] + wire[layer] + since[reader] for layer, reader in _edges(problem)]
    longest_s = max(path_s, _worst_device_s(crossing), seconds.min(axis=1).sum() / seconds.shape[1])
    return float(max(0.0, longest_s - earlier_s))


def _edges(problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield each layer with each of its readers."""
    for layer in range(len(problem.layers)):
        for reader in problem.readers[layer]:
            yield layer, reader


def _worst_device_s(crossing: Sequence[Seconds]) -> float:
    """Return the seconds that a cut needs at the worst device, by those of each cut by [sender][receiver].

    Every device is at one end of a cut at least, as it does not run all layers. A single device has none.
    """
    cuts = np.array(crossing)
    n_devices = cuts.shape[-1]
    if n_devices == 1:
        return 0.0
    cuts = cuts + np.diag([inf] * n_devices)
    return float(np.minimum(cuts.min(axis=(0, 1)), cuts.min(axis=(0, 2))).max())


def _least_period_s(problem: Problem, seconds: Seconds, wire: Seconds) -> float:
    """Return the largest of: a layer, a cut at every board, the host's part, work spread over boards by their speed."""
    spread_s = _spread_s(seconds)
    cut_s = _worst_device_s([wire[layer] for layer, _ in _edges(problem)])
    longest_s = seconds.min(axis=1).max(), seconds.min(axis=0).max()
    return float(max(spread_s, *longest_s, cut_s, _host_s(problem)))


def _host_s(problem: Problem) -> float:
    """Return the least seconds of the host's port: to send the input, to read the output."""
    return float(np.array(problem.handoff_parts.host_s).min(axis=0).max())


def _spread_s(seconds: Seconds) -> float:
    """Return the work spread over boards by their speed.

    For any weights w of the devices whose sum is 1: period >= sum w * load >= sum over layers of min w * seconds.
    """
    finite = np.where(np.isfinite(seconds), seconds, 0.0).sum(axis=0)
    speeds = 1 / np.maximum(finite, np.finfo(float).tiny)
    return float((seconds * (speeds / speeds.sum())).min(axis=1).sum())


def _least_energy_j(problem: Problem, seconds: Seconds, period_s: float) -> float:
    """Return joules of computation beyond idle, one layer on the worst board, and idle power of all boards."""
    joules = _joules(problem, seconds)
    least = joules.min(axis=1)
    detour_j = (joules - least[:, None]).min(axis=0).max()
    return float(least.sum() + detour_j + _idle_j(problem, period_s))


def _joules(problem: Problem, seconds: Seconds) -> Seconds:
    """Return the joules beyond idle power that take `seconds` by [layer][device], infinite like these."""
    beyond_idle_w = np.array([device.run_w - device.between_w for device in problem.devices])
    joules: Seconds = np.where(np.isfinite(seconds), seconds, 0.0) * beyond_idle_w
    joules[~np.isfinite(seconds)] = inf
    return joules


def _idle_j(problem: Problem, period_s: float) -> float:
    """Return the joules of the idle power of all boards between two inputs."""
    return sum(device.between_w for device in problem.devices) * (problem.frame_period_s or period_s)
