"""The clock of all time limits of solvers; tests replace `now`."""

from time import perf_counter


def now() -> float:
    """Return seconds since an arbitrary instant."""
    return perf_counter()


def after(share: float, until_s: float) -> float:
    """Return when a share of the time until then will be over, at once if that is past."""
    begin_s = now()
    return begin_s + share * max(0.0, until_s - begin_s)
