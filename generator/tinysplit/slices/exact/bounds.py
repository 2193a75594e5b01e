"""Lower bounds of what is left after a stage: from every board by the longest path, and of all boards together."""

from dataclasses import dataclass

import numpy as np

from tinysplit.slices.exact.problem import DistributionProblem, Flags, Floats, Integers, Stage, greatest


@dataclass(frozen=True, eq=False)
class Remaining:
    """Least seconds after a stage, by [option][board] from the board's begin or clock to the end.

    `together`, by [option], is the least sum of what boards compute and transfer; no choice ends before all boards have
    done so, on average.
    """

    from_begin: Floats
    from_clock: Floats
    together: Floats

    def bounds(self, options: Integers, begin: Floats, clock: Floats) -> Floats:
        """Return the least value by label and option; `begin` and `clock` are arrays (labels, options, boards)."""
        ends = greatest(np.maximum(begin + self.from_begin[options], clock + self.from_clock[options]))
        shared = (clock.sum(axis=-1) + self.together[options]) / clock.shape[-1]
        bounds: Floats = np.maximum(ends, shared)
        return bounds


def remaining(problem: DistributionProblem) -> tuple[Remaining, ...]:
    """Return the bounds after each stage, whatever the options of earlier stages are."""
    stages, n_boards = problem.stages, problem.n_boards
    from_clock = np.zeros((stages[-1].n_options, n_boards))
    after = Remaining(np.full_like(from_clock, -np.inf), from_clock, np.zeros(stages[-1].n_options))
    found = [after]
    for number in range(len(stages) - 1, 0, -1):
        after = _before(stages[number], number, stages[number - 1].n_options, after)
        found.append(after)
    return tuple(reversed(found))


def _before(stage: Stage, number: int, n_options: int, after: Remaining) -> Remaining:
    """Return the bounds before a stage, by the `n_options` of the stage before it."""
    sending, receiving, allowed = _least_costs(stage, number, n_options)
    seconds = stage.seconds if _depends_on(stage, number - 1) else stage.seconds.min(axis=0, keepdims=True)
    busy = sending + receiving + seconds
    from_clock = np.maximum(sending + after.from_begin, busy + after.from_clock)
    from_begin = np.full_like(from_clock, -np.inf)
    for transition in stage.transitions:
        at = transition.arrivals
        if at is not None and transition.source == number - 1:
            for since, to_begin, to_end in (
                (from_begin, at.begin_to_begin, at.begin_to_end),
                (from_clock, at.end_to_begin, at.end_to_end),
            ):
                paths = np.maximum(to_begin + after.from_begin[:, None], to_end + after.from_clock[:, None])
                np.maximum(since, greatest(paths), out=since)
    together = np.where(allowed, busy.sum(axis=-1) + after.together, np.inf)
    ways = np.isfinite(together)[..., None]
    return Remaining(
        _least(from_begin, ways),
        _least(from_clock, ways),
        together.min(axis=1),
    )


def _least(paths: Floats, ways: Flags) -> Floats:
    """Return the least over options; without a way 0: `together` says so."""
    least = np.where(ways, paths, np.inf).min(axis=1)
    return np.where(np.isposinf(least), 0.0, least)


def _least_costs(stage: Stage, number: int, n_options: int) -> tuple[Floats, Floats, Flags]:
    """Return seconds of sending and receiving, and what is allowed, by [option of the stage before][option].

    Of sources other than the stage before, the option that costs least.
    """
    n_boards = stage.seconds.shape[-1]
    shape = (n_options, stage.n_options)
    sending, receiving = np.zeros((*shape, n_boards)), np.zeros((*shape, n_boards))
    allowed = np.ones(shape, bool)
    for each in stage.transitions:
        ways = each.allowed[..., None]
        if each.source == number - 1:
            sending, receiving, allowed = sending + each.sending_s, receiving + each.receiving_s, allowed & each.allowed
        else:
            sending = sending + np.where(ways, each.sending_s, np.inf).min(axis=0)
            receiving = receiving + np.where(ways, each.receiving_s, np.inf).min(axis=0)
            allowed = allowed & each.allowed.any(axis=0)
    sending, receiving = (np.where(np.isfinite(each), each, 0.0) for each in (sending, receiving))
    return sending, receiving, allowed


def _depends_on(stage: Stage, source: int) -> bool:
    return len(stage.seconds) == 1 or stage.transitions[0].source == source
