"""Which distribution each tensor has: a problem of numbers alone, and what a choice costs.

It knows no networks, boards or links: `slices/distribution_problem.py` makes it of them.

Each stage is a layer, in their order; boards compute a stage's parts side by side. For every board there are two times:
when it begins its part and when its clock stands after it. A stage adds to the clock what the board computes, and what
transfers take of its CPU; and its part ends at the earliest some seconds after another board has begun, or ended, its
part of the stage before: the tensor has to be sent first. So it is with the stage before that one, where one
board has all of its output: the begin of that board's next part tells when it has ended. What else an earlier stage
computed has long arrived, and takes CPU only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from tinysplit.timing.topology import NETWORK_INPUT

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.intp]
Choice = tuple[int, ...]  # the option of each stage
BySender = tuple[tuple[int, Floats], ...]  # board a, and a table by [option of the source][option][b]
Taken = Integers | slice  # options of a stage


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Seconds from what board a does in the stage before to board b in this one; -inf where nothing is sent.

    Arrays by [option of the source][option][a][b]. From a's beginning of its part, or from its end, to b's beginning
    of its part, where all of that waits, or to b's end.
    """

    begin_to_begin: Floats
    begin_to_end: Floats
    end_to_begin: Floats
    end_to_end: Floats

    def since_next(self, options: Flags, sending_s: Floats) -> "Arrivals":
        """Return the same for the stage after that, with these options of the source: others arrive at once.

        A board begins its next part for which it sends at most `sending_s`, by board, when its part has ended. What the
        part's begin tells is left out, so that nothing arrives later than it does.
        """
        never = np.full_like(self.begin_to_begin, -np.inf)
        to_begin, to_end = (
            np.where(options[:, None, None, None], table - sending_s[:, None], -np.inf)
            for table in (self.end_to_begin, self.end_to_end)
        )
        return Arrivals(to_begin, to_end, never, never)

    @cached_property
    def by_sender(self) -> tuple[BySender, BySender, BySender, BySender]:
        """The same tables by senders that send anything: numpy is slow where it takes a few of many numbers in turn."""
        first, second, third, fourth = (
            tuple(
                (a, np.ascontiguousarray(table[..., a, :]))
                for a in np.flatnonzero((table > -np.inf).any((0, 1, 3))).tolist()
            )
            for table in (self.begin_to_begin, self.begin_to_end, self.end_to_begin, self.end_to_end)
        )
        return first, second, third, fourth


@dataclass(frozen=True, eq=False)
class Transition:
    """What a stage needs of a source in each combination of options.

    `allowed` by [option of the source][option]; `sending_s` and `receiving_s` of the CPU by [...][...][board].
    `arrivals` only where the source is the stage before, or the one before that (`Arrivals.since_next`).
    """

    source: int  # a stage, or NETWORK_INPUT, which has one option
    allowed: Flags
    sending_s: Floats
    receiving_s: Floats
    arrivals: Arrivals | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """A layer: `seconds` by [option of the first source, or 1 for all][option][board], flash by [option][board]."""

    seconds: Floats
    flash_bytes: Floats
    transitions: tuple[Transition, ...]

    @property
    def n_options(self) -> int:
        """Distributions to choose from."""
        return int(self.seconds.shape[1])

    def seconds_after(self, source: int | Integers, options: Taken) -> Floats:
        """Return the seconds by [option][board] with an option of the first source."""
        return _of(self.seconds, source if len(self.seconds) > 1 else 0, options)


@dataclass(frozen=True, eq=False)
class DistributionProblem:
    """Stages and boards; the value is the latest clock of all boards after the last stage."""

    stages: tuple[Stage, ...]
    flash_limits: Floats  # bytes by board

    @property
    def n_boards(self) -> int:
        """Number of boards."""
        return len(self.flash_limits)

    @cached_property
    def last_readers(self) -> tuple[int, ...]:
        """The last stage that reads each stage's output; of the last one, itself."""
        found = list(range(len(self.stages)))
        for number, stage in enumerate(self.stages):
            for transition in stage.transitions:
                if transition.source != NETWORK_INPUT:
                    found[transition.source] = number
        return tuple(found)


def value_of(problem: DistributionProblem, choice: Sequence[int]) -> float:
    """Return the seconds that a choice takes, infinite if it is not allowed or exceeds the flash."""
    begin = clock = np.zeros(problem.n_boards)
    flash = np.zeros(problem.n_boards)
    for stage, option in zip(problem.stages, choice, strict=True):
        sources = [0 if each.source == NETWORK_INPUT else choice[each.source] for each in stage.transitions]
        if not all(each.allowed[own, option] for each, own in zip(stage.transitions, sources, strict=True)):
            return np.inf
        begin, clock = step(stage, sources, np.array([option]), begin[None], clock[None])
        begin, clock = begin[0, 0], clock[0, 0]
        flash = flash + stage.flash_bytes[option]
    if np.any(flash > problem.flash_limits):
        return np.inf
    return float(clock.max())


def step(
    stage: Stage, sources: Sequence[int | Integers], options: Taken, begin: Floats, clock: Floats
) -> tuple[Floats, Floats]:
    """Return `begin` and `clock` (labels, boards) after a stage: arrays (labels, options, boards).

    `sources` are the options of its sources, the same for all labels or an array of theirs.
    """
    own = list(zip(stage.transitions, sources, strict=True))
    sending = sum((_of(each.sending_s, source, options) for each, source in own), start=np.zeros(()))
    receiving = sum((_of(each.receiving_s, source, options) for each, source in own), start=np.zeros(()))
    first = clock[:, None] + sending
    last = first + receiving + stage.seconds_after(sources[0], options)
    for each, source in own:
        if each.arrivals is not None:
            begin_to_begin, begin_to_end, end_to_begin, end_to_end = each.arrivals.by_sender
            pairs = ((begin_to_begin, begin, first), (end_to_begin, clock, first))
            for tables, since, until in (*pairs, (begin_to_end, begin, last), (end_to_end, clock, last)):
                for a, table in tables:
                    np.maximum(until, since[:, a, None, None] + _of(table, source, options), out=until)
    return first, last


def _of(table: Floats, source: int | Integers, options: Taken) -> Floats:
    """Return what a table by [option of the source][option][board] has: by ([label,] option, board)."""
    found: Floats = table[source][..., options, :]
    return found


def greatest(values: Floats) -> Floats:
    """Return the greatest of each row of boards, the last axis: numpy reduces short axes slowly."""
    return reduce(np.maximum, np.moveaxis(values, -1, 0))
