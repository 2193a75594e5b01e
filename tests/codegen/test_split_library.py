"""Libraries of a split network in processes over the POSIX port: bit-exact, also on bad lines and after restarts."""

import random
import time

import pytest

from libraries.cases import BLOCKING, FOLDERS, Case
from libraries.processes import Boards, Line, running
from session.profiles import cases

QUICK = ("two", "streamed", "unstaged", "rows")
EVERY = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in FOLDERS]
# Each folder runs by the call that polls, and those that differ in what their links do by the one that blocks.
BY_DAY = [pytest.param(name, marks=() if name in QUICK else pytest.mark.nightly) for name in FOLDERS]
SEEDS = cases(quick=1, full=1, nightly=4)


@pytest.mark.parametrize("name", EVERY)
def test_libraries_compute_what_the_reference_does(name: str) -> None:
    case = Case(name)
    with running(case.project, case.programs) as boards:
        case.check(boards)
        case.check(boards)


@pytest.mark.parametrize("name", BY_DAY)
def test_calls_that_block_compute_the_same(name: str) -> None:
    case = Case(name, BLOCKING)
    with running(case.project, case.programs) as boards:
        case.check(boards)


@pytest.mark.parametrize("name", EVERY)
def test_bad_lines_cost_time_and_no_output(name: str) -> None:
    check_on_bad_lines(Case(name))


@pytest.mark.parametrize("name", BY_DAY)
def test_bad_lines_cost_calls_that_block_time_and_no_output(name: str) -> None:
    check_on_bad_lines(Case(name, BLOCKING))


def check_on_bad_lines(case: Case) -> None:
    for seed in range(SEEDS):
        with running(case.project, case.programs, Line(loss=0.0005, damage=0.0005), seed) as boards:
            for _ in range(3):
                case.check(boards)


@pytest.mark.parametrize("name", ["two", pytest.param("four", marks=pytest.mark.slow), "rows"])
def test_a_process_that_starts_again_is_noticed_and_all_go_on(name: str) -> None:
    """What was under way has no output; each one that comes is one of the reference, and the last input has its own."""
    case = Case(name)
    numbers = random.Random(name)  # noqa: S311 (no secret)
    with running(case.project, case.programs) as boards:
        case.check(boards)
        for number in case.programs:
            boards.give(case.inputs[:1])
            time.sleep(0.02 * numbers.random())
            boards.stop(number)
            boards.start(number)
            recovered = resumed(case, boards)
            assert recovered
            case.check(boards)


def resumed(case: Case, boards: Boards) -> bool:
    """Give an input again and again until outputs come, all of which are right, and drain them."""
    known = {output.tobytes() for output in case.outputs}
    has_output = False
    for _ in range(20):
        boards.give(case.inputs[:1])
        while (output := case.output(boards, within_s=0.5)) is not None:
            assert output.tobytes() in known
            has_output = True
        if has_output:
            return True
    return False


def test_a_cut_line_is_noticed_and_all_go_on() -> None:
    case, line = Case("two"), Line()
    with running(case.project, case.programs, line) as boards:
        case.check(boards)
        line.is_cut = True
        boards.give(case.inputs[:1])
        assert case.output(boards, within_s=2) is None
        line.is_cut = False
        assert resumed(case, boards)
        case.check(boards)
        assert "failure 6 of board" in boards.stop(case.project.pipelines[0].input_boards[0])


def test_boards_may_start_in_any_order() -> None:
    case = Case("two")
    for order in (list(case.programs), list(reversed(case.programs))):
        with running(case.project, case.programs, starts=False) as boards:
            for number in order:
                boards.start(number)
                time.sleep(0.3)
            assert resumed(case, boards)
            case.check(boards)


def test_libraries_of_different_splits_refuse_each_other() -> None:
    one, other = Case("two"), Case("streamed")
    programs = {1: one.programs[1], 2: other.programs[2]}
    with running(one.project, programs) as boards:
        boards.give(one.inputs[:1])
        assert one.output(boards, within_s=1) is None
        assert "failure 13 of board" in boards.stop(1)
