"""The estimated seconds of an inference in which each board of a plan runs and sleeps."""

from collections.abc import Mapping, Sequence

from tinysplit.plan.plan import Plan
from tinysplit.project.activity import BoardActivity
from tinysplit.timing.figures import BoardTime


def board_activities(
    plans: Sequence[Plan], found: Sequence[BoardTime], shares: Sequence[float]
) -> tuple[BoardActivity, ...]:
    """Return what boards do in the time of an inference, with the reading of their external memory.

    Each plan computes one of the `shares` of all inferences.
    """
    copies = zip(plans, shares, strict=True)
    external_s = {device: share * seconds for plan, share in copies for device, seconds in _external_s(plan).items()}
    return tuple(
        BoardActivity(
            board=each.device + 1,
            run_s=each.run_s,
            sleep_s=each.sleep_s,
            external_s=external_s.get(each.device, 0.0),
            stop_s=each.stop_s,
        )
        for each in found
    )


def _external_s(plan: Plan) -> Mapping[int, float]:
    """Return the seconds of an inference in which the external memory of each device is read."""
    return {
        own.index: sum(each.external_cycles for each in own.constants.values()) / own.board.clock.core_hz
        for own in plan.boards
    }
