"""Why no split exists: which layer or which memory is short by how many bytes on which board."""

from dataclasses import replace
from math import inf, isfinite

from tinysplit.errors import CheckFailedError
from tinysplit.hardware import board_title
from tinysplit.split.period_search import PeriodSearch
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem, within
from tinysplit.split.tree_search import TreeSearch
from tinysplit.units import MS

EXPLANATION_LIMIT_S = 1.0  # a board: an explanation may not take longer than the search


def check_memories(problem: Problem) -> None:
    """Raise CheckFailedError for a layer that fits into no device, and for flash that is too small in all."""
    for number, layer in enumerate(problem.layers, 1):
        if not any(map(isfinite, problem.usable_seconds[number - 1])):
            raise CheckFailedError(f"layer {number} {layer.name!r} {_why_nowhere(problem, layer)}")
    needed = sum(layer.flash_bytes for layer in problem.layers)
    available = sum(device.flash_bytes for device in problem.devices)
    if needed > available:
        names = {1: f"{_board(problem, 0)} has", 2: "both boards together have"}
        have = names.get(len(problem.devices), f"all {len(problem.devices)} boards together have")
        raise CheckFailedError(
            f"the network needs {needed} bytes of flash, {have} {available}: {needed - available} bytes short"
        )
    if problem.must_use_all and len(problem.devices) > len(problem.layers):
        raise CheckFailedError(
            f"every one of {len(problem.devices)} boards must be used, but the network has {len(problem.layers)} layers"
        )


def explain(problem: Problem) -> CheckFailedError:
    """Return why an exhausted search found nothing, although `check_memories` had no complaint."""
    if problem.is_limited:
        return _explain_limits(problem)
    shortages = [(missing, device) for device in range(len(problem.devices)) if (missing := _missing(problem, device))]
    if shortages:
        missing, device = min(shortages)
        return CheckFailedError(
            "every layer fits somewhere and so does their sum, but no assignment packs them: "
            f"{missing} more bytes of flash on {_board(problem, device)} would do"
        )
    if problem.must_use_all:
        return CheckFailedError("no assignment that uses every board fits: leave one out")
    return CheckFailedError("no assignment fits: the boards that hold the layers are not linked, or several lack flash")


def explain_timeout(problem: Problem, time_limit_s: float) -> CheckFailedError:
    """Return that the search ended before it found anything."""
    return CheckFailedError(
        f"no split of {len(problem.layers)} layers on {len(problem.devices)} boards found in {time_limit_s:g} s, "
        f"and none excluded: name larger boards{' or relax the limits' if problem.is_limited else ''}"
    )


def _explain_limits(problem: Problem) -> CheckFailedError:
    """Return which limit is out of reach, or that both are only together; or why nothing fits even without them."""
    free = problem.without_limits()
    least_i = _least(replace(free, objective=Objective.LATENCY))
    if not isfinite(least_i):
        return explain(free)
    if not within(least_i, problem.max_latency_s):
        return CheckFailedError(
            f"no split answers within {problem.max_latency_s * MS:.6g} ms: the shortest latency found is "
            f"{least_i * MS:.6g} ms"
        )
    least_period = _least(replace(free, objective=Objective.THROUGHPUT))
    if not within(least_period, problem.max_period_s):
        return CheckFailedError(
            f"no split answers every {problem.max_period_s * MS:.6g} ms: the shortest period found is "
            f"{least_period * MS:.6g} ms"
        )
    together = _least(replace(problem, objective=Objective.THROUGHPUT, max_period_s=inf))
    return CheckFailedError(
        f"the limits contradict each other: of the splits that answer within {problem.max_latency_s * MS:.6g} ms, the "
        f"shortest period found is {together * MS:.6g} ms, not {problem.max_period_s * MS:.6g} ms"
    )


def _least(problem: Problem) -> float:
    """Return the least objective found in `EXPLANATION_LIMIT_S`."""
    search = PeriodSearch(problem)
    search.run(EXPLANATION_LIMIT_S)
    return search.best_s


def _board(problem: Problem, device: int) -> str:
    return board_title(device + 1, problem.devices[device].name)


def _why_nowhere(problem: Problem, layer: LayerCosts) -> str:
    """Return in words what keeps `layer` from the device that comes nearest to holding it."""
    can_run = [device for device, seconds in enumerate(layer.seconds) if isfinite(seconds)]
    if not can_run:
        return "can run on none of the boards"
    for what, needed, free in (
        ("RAM", layer.ram_bytes, [device.ram_bytes for device in problem.devices]),
        ("flash", layer.flash_bytes, [device.flash_bytes for device in problem.devices]),
    ):
        largest = max(can_run, key=free.__getitem__)
        if needed > free[largest]:
            return (
                f"needs {needed} bytes of {what}; the largest free is {free[largest]} on {_board(problem, largest)}: "
                f"{needed - free[largest]} bytes short"
            )
    shortages = (f"{_board(problem, device)} lacks {_lack(layer, problem.devices[device])}" for device in can_run)
    return f"needs {layer.flash_bytes} bytes of flash and {layer.ram_bytes} of RAM: {', '.join(shortages)}"


def _lack(layer: LayerCosts, limits: DeviceLimits) -> str:
    lacks = {"flash": layer.flash_bytes - limits.flash_bytes, "RAM": layer.ram_bytes - limits.ram_bytes}
    return " and ".join(f"{n_bytes} bytes of {what}" for what, n_bytes in lacks.items() if n_bytes > 0)


def _missing(problem: Problem, device: int) -> int:
    """Return the fewest bytes more of flash on `device` that were found to make the problem feasible; 0 for none.

    This is a splitting problem itself: the device has unlimited flash, and each byte on it costs a second.
    """
    total = sum(layer.flash_bytes for layer in problem.layers)
    layers = tuple(
        replace(
            layer,
            seconds=tuple(
                inf if not isfinite(seconds) else float(layer.flash_bytes) if other == device else 0.0
                for other, seconds in enumerate(layer.seconds)
            ),
        )
        for layer in problem.layers
    )
    limits = problem.devices[device]
    devices = (
        *problem.devices[:device],
        replace(limits, flash_bytes=max(total, limits.flash_bytes)),
        *problem.devices[device + 1 :],
    )
    transfers = tuple(
        tuple(tuple(0.0 if isfinite(seconds) else inf for seconds in row) for row in table)
        for table in problem.transfer_seconds
    )
    relaxed = replace(
        problem.without_limits(),
        objective=Objective.LATENCY,
        layers=layers,
        devices=devices,
        transfer_seconds=transfers,
    )
    search = TreeSearch(relaxed)
    search.run(EXPLANATION_LIMIT_S)
    return round(search.best_s) - limits.flash_bytes if search.best else 0
