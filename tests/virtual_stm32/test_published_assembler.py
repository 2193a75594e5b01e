"""Assembler of others, with published cycles: built and run, here with a function of our own."""

from pathlib import Path
from typing import Any

import pytest

from common.published_assembler import cycles_of, run_routines
from tinysplit.common.errors import CheckFailedError, UsageError

GROUP: dict[str, Any] = {
    "title": "own",
    "board": "nucleo_f446re",
    "memory": "ideal",
    "repository": "example.org/own",
    "header": "own/wait.h",
    "sources": ["own/*.S"],
}
WAIT = ".syntax unified\n.thumb\n.global wait\n.type wait, %function\nwait:\n.rept 100\nnop\n.endr\nbx lr\n"
AROUND = 10  # cycles of a call and its measurement, at most


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "wait.h").write_text("void wait(void);\n")
    (tmp_path / "own" / "wait.S").write_text(WAIT)
    return tmp_path


def test_cycles_are_those_of_the_last_call(sources: Path) -> None:
    calls = [{"before": "", "call": "wait()"}, {"before": "wait();", "call": "wait(), wait()"}]
    once, twice = cycles_of({**GROUP, "calls": calls}, sources)
    assert 100 < once < 100 + AROUND
    assert once + 100 < twice < 2 * once


def test_a_wrong_result_is_a_failed_check(sources: Path) -> None:
    calls = [{"before": "", "call": "wait()", "is_checked": True}]
    with pytest.raises(CheckFailedError, match="own on nucleo_f446re did not end, or with wrong results"):
        cycles_of({**GROUP, "calls": calls}, sources)


def test_sources_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"has no aes/target/CM7\.h: clone https://github.com/jnk0le/cortexm-AES there"
    ):
        list(run_routines(tmp_path))
