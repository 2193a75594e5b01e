"""The account that virtual boards keep of their cycles: those in which they ran, and those in Sleep mode (WFI).

In stop mode no cycles pass.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tinysplit.project.activity import BoardActivity


class Account(NamedTuple):
    """Core cycles of a board since its reset; those of them that it slept; those in which external memory was read.

    It has been in stop mode for `stopped_s`.
    """

    cycles: int
    slept: int
    external: int = 0
    stopped_s: float = 0.0

    @property
    def ran(self) -> int:
        """Core cycles that it did not sleep."""
        return self.cycles - self.slept


Accounts = Mapping[int, Account]  # by board number


def activities_between(before: Accounts, after: Accounts, core_hz: Mapping[int, int]) -> tuple[BoardActivity, ...]:
    """Return what boards did from one account to another; none of boards that keep no account."""
    return tuple(
        _activity(number, before[number], after[number], core_hz[number]) for number in before if number in after
    )


def _activity(number: int, before: Account, after: Account, core_hz: int) -> BoardActivity:
    ran, slept, read = after.ran - before.ran, after.slept - before.slept, after.external - before.external
    return BoardActivity(
        board=number,
        run_s=ran / core_hz,
        sleep_s=slept / core_hz,
        external_s=read / core_hz,
        stop_s=after.stopped_s - before.stopped_s,
    )


def mean_activities(inferences: Sequence[Sequence[BoardActivity]], boards: Sequence[int]) -> tuple[BoardActivity, ...]:
    """Return the mean over inferences of what each of `boards` (numbers) did; none where there is no account."""
    by_board = {number: [each for own in inferences for each in own if each.board == number] for number in boards}
    return tuple(
        BoardActivity(
            board=number,
            run_s=sum(each.run_s for each in own) / len(own),
            sleep_s=sum(each.sleep_s for each in own) / len(own),
            external_s=sum(each.external_s for each in own) / len(own),
            stop_s=sum(each.stop_s for each in own) / len(own),
        )
        for number, own in by_board.items()
        if own
    )
