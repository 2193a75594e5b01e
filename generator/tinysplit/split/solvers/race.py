"""Solvers on the same problem at the same time, each in a process: the first proof ends it, else the best counts."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from selectors import EVENT_READ, DefaultSelector

from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.worker import Answer, Worker

GRACE_S = 0.5  # behind the time limit, until a process is ended that does not end by itself


def race(problem: Problem, solvers: Iterable[str], known: Sequence[Split] = (), *, time_limit_s: float) -> list[Split]:
    """Return `known` and what `solvers` find, until a split is proved.

    InfeasibleError as soon as one of them excludes any.
    """
    found = list(known)
    start_from = best_of(found).assignment if found else None
    for answer in _answers(problem, solvers, start_from, time_limit_s):
        if isinstance(answer, InfeasibleError):
            raise answer
        if isinstance(answer, Split):
            found.append(replace(answer, problem=problem))
            if best_of(found).proved:
                break
    return found


def best_of(splits: Sequence[Split]) -> Split:
    """Return the best of `splits` of one problem with the largest of their bounds, and all that was explored."""
    best = min(splits, key=lambda split: split.objective)
    bound = max(split.lower_bound for split in splits)
    return replace(best, lower_bound=min(best.objective, bound), explored=sum(split.explored for split in splits))


def _answers(
    problem: Problem, solvers: Iterable[str], known: Assignment | None, time_limit_s: float
) -> Iterator[Answer | None]:
    """Give what each solver says as soon as it does; None for one that died."""
    ends_at = time.time() + time_limit_s
    workers = [Worker(problem, solver, ends_at, known) for solver in solvers]
    try:
        with DefaultSelector() as selector:
            for worker in workers:
                selector.register(worker.output, EVENT_READ, worker)
            while selector.get_map() and (left_s := ends_at + GRACE_S - time.time()) > 0:
                for key, _ in selector.select(left_s):
                    selector.unregister(key.fileobj)
                    yield key.data.answer()
    finally:
        for worker in workers:
            worker.stop()
