"""HiGHS against our search: two independent statements of the problem."""

import sys
from math import isfinite
from random import Random

import pytest

from test_label_search import brute_force, large_problem, small_problem
from tinysplit.errors import CheckFailedError, ToolError
from tinysplit.split import milp as module
from tinysplit.split.label_search import label_search
from tinysplit.split.milp import milp


def test_agrees_with_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy", reason="HiGHS needs the extra milp")
    monkeypatch.setattr(module, "explain", lambda _: CheckFailedError("nothing fits"))
    rng = Random(3)  # noqa: S311 (no secret)
    for _ in range(150):
        problem = small_problem(rng)
        expected = brute_force(problem)
        if not isfinite(expected):
            with pytest.raises(CheckFailedError):
                milp(problem)
            continue
        split = milp(problem)
        assert problem.is_feasible(split.assignment)
        assert split.objective == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_agrees_with_the_search_on_thirty_layers() -> None:
    pytest.importorskip("scipy", reason="HiGHS needs the extra milp")
    problem = large_problem(30, 3, 1)
    assert milp(problem).objective == pytest.approx(label_search(problem).objective, rel=1e-6)


def test_missing_scipy_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ToolError, match=r"HiGHS needs scipy: pip install 'tinysplit\[milp\]'"):
        milp(large_problem(3, 2, 0))
