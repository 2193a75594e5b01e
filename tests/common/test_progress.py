"""Progress without a terminal: lines on stderr."""

import io

import pytest
from rich.console import Console

from tinysplit.common import progress
from tinysplit.common.progress import late_step, steps


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=80)


def printed(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_counts_are_printed_now_and_then(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    with steps(console, "counting", 30) as advance:
        for done in range(1, 31):
            now = done * 1.0
            advance(done)
    assert printed(console) == ["counting ...", "counting: 10 of 30", "counting: 20 of 30", "counting: 30 of 30"]


def test_only_what_is_slow_is_named(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    with late_step(console, "fast"):
        pass
    monkeypatch.setattr(progress, "LATE_S", 0.0)
    with late_step(console, "slow [brackets]"):
        while not printed(console):
            pass
    assert printed(console) == ["slow [brackets] ..."]
