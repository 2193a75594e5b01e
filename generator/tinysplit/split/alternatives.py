"""The best split of several problems: the same network on the same boards, with other choices for its layers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tinysplit.common.errors import CheckFailedError
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split


def best_of(problems: Sequence[Problem], solve: Callable[[Problem], Split]) -> Split:
    """Return the best split of all problems, with a bound for all. Raises the error of the first if none has one."""
    splits, errors = [], []
    for problem in problems:
        try:
            splits.append(solve(problem))
        except CheckFailedError as error:
            errors.append(error)
    if not splits:
        raise errors[0]
    best = min(splits, key=lambda split: split.objective)
    return replace(best, lower_bound=min(split.lower_bound for split in splits))
