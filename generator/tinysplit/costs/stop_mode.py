"""What stop mode between inferences saves of the energy of boards that run without a host."""

from collections.abc import Mapping
from dataclasses import replace

from tinysplit.boards.board import Board, no_stop_current
from tinysplit.boards.catalog import wake_us
from tinysplit.common.choices import LowPower
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.units import US
from tinysplit.settings.costs import FRAME_PERIOD
from tinysplit.settings.programs import LOW_POWER
from tinysplit.split.problem import DeviceLimits, Problem
from tinysplit.timing.board import QUIET_S, TIMER_LEAD_S


def wake_up_s(board: Board) -> float:
    """Return the seconds from the end of stop mode until the clocks of a board are raised, at most."""
    return wake_us(board) / US


def without_host(problem: Problem, stopping: Mapping[int, Board]) -> Problem:
    """Return the problem of boards that run without a host; those that take part are `stopping`, if they do."""
    handoff = replace(problem.handoff_parts.without_host(), wake_up_s=_wake_ups_s(problem, stopping))
    return replace(problem, handoff=handoff, host_seconds=())


def _wake_ups_s(problem: Problem, boards: Mapping[int, Board]) -> tuple[float, ...]:
    devices = range(len(problem.devices)) if boards else ()
    return tuple(wake_up_s(boards[device]) if device in boards else 0.0 for device in devices)


def with_stop_mode(problem: Problem, boards: Mapping[int, Board], low_power: LowPower, frame_s: float) -> Problem:
    """Return the problem of boards that stop between inputs every `frame_s` where that is chosen, or takes less energy.

    `boards` are those that may take part, by device.

    Raises UsageError without a frame period, InputError where the current of a board in stop mode is needed and not
    known.
    """
    if low_power is LowPower.SLEEP:
        return problem
    if not frame_s:
        raise UsageError(f"{LOW_POWER(low_power)} is for inputs at a rate: add {FRAME_PERIOD}")
    unknown = [board.name for device, board in boards.items() if problem.devices[device].stop_w is None]
    if low_power is LowPower.STOP and unknown:
        raise InputError(no_stop_current(unknown[0]))
    devices = [
        _resting(device, boards[number], frame_s) if number in boards else device
        for number, device in enumerate(problem.devices)
    ]
    if unknown or (
        low_power is LowPower.AUTO and any(devices[each].between_w >= devices[each].idle_w for each in boards)
    ):
        return problem
    handoff = replace(problem.handoff_parts, wake_up_s=_wake_ups_s(problem, boards))
    return replace(problem, devices=tuple(devices), handoff=handoff)


def _resting(device: DeviceLimits, board: Board, frame_s: float) -> DeviceLimits:
    """Return a device with its mean power between inferences: it sleeps before and behind stop mode."""
    if device.stop_w is None:
        return device
    asleep_s = min(frame_s, QUIET_S + TIMER_LEAD_S + wake_up_s(board))
    return replace(device, rest_w=device.stop_w + (device.idle_w - device.stop_w) * asleep_s / frame_s)
