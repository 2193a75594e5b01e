"""The clock of all time limits of solvers; tests replace `now`."""

from time import perf_counter


def now() -> float:
    """Return seconds since an arbitrary instant."""
    return perf_counter()
