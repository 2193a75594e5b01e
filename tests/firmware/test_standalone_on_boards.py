"""Boards that run without a host: order of power-on, faults, inputs by time, and mistakes of applications."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from rigs.faulty_boards import MS_PS
from rigs.standalone_boards import (
    DIVISIONS,
    FREE_RUNNING,
    SAMPLES,
    Division,
    StandaloneBoards,
    babble,
    cut,
    heal,
    interrupt_latencies,
    standalone_boards,
    standalone_project,
)
from tinysplit.common.choices import LateInputs
from tinysplit.project.standalone import ProjectStandalone
from tinysplit_hil.wire.protocol import ErrorCode
from virtual_stm32 import ResetCause

G071, F401 = "nucleo_g071rb", "nucleo_f401re"
PAIR, CHAIN = (G071, F401), (F401, G071, G071)
DIVIDED = [  # rows on three boards have those on two
    pytest.param(each, marks=pytest.mark.nightly if each is DIVISIONS[5] else ()) for each in DIVISIONS[3:]
]
ENTRY_CYCLES, LONGEST_WAIT_CYCLES = 12, 450  # of an exception of the core; as `benchmarks standalone latency` has it
RECOVERY_MS = 250 + 60  # beside the start of a board and two inferences
GO_ON_MS = 200  # for SAMPLES inferences more

pytestmark = pytest.mark.slow


def opened(
    names: tuple[str, ...] = PAIR, standalone: ProjectStandalone = FREE_RUNNING, overrun: int = 0
) -> AbstractContextManager[StandaloneBoards]:
    return standalone_boards(*standalone_project(Division("whole layers", names), standalone, overrun))


@pytest.mark.parametrize("names", [PAIR, CHAIN, (G071,)], ids="-".join)
def test_boards_run_by_themselves(names: tuple[str, ...]) -> None:
    with opened(names) as boards:
        boards.run(300)
        assert boards.right >= 2 * SAMPLES
        assert not boards.wrong
        for name in ("begun", "constructed"):
            assert [boards.read(index, name) for index in range(len(names))] == [1] * len(names)
        assert boards.read(boards.first, "failures") == 0
        assert boards.read(boards.last, "idled")
        assert boards.read(boards.last, "interrupts") == 1
        assert boards.result_ms[0] < 100


@pytest.mark.parametrize("division", DIVIDED, ids=lambda each: f"{each.title} {len(each.boards)}")
def test_divided_networks_run_by_themselves_and_go_on_after_a_reset(division: Division) -> None:
    with standalone_boards(*standalone_project(division)) as boards:
        boards.run(200)
        for index in boards.outputs:
            assert boards.right_of[index] >= SAMPLES
        boards.virtual.reset_board(len(division.boards) - 1, ResetCause.PIN)
        before = dict(boards.right_of)
        boards.run(RECOVERY_MS)
        assert all(boards.right_of[index] > before[index] for index in boards.outputs)
        assert not boards.wrong


@pytest.mark.parametrize(
    ("late", "late_ms"),
    [
        *((0, 40), (1, 3000), (0, 60_000)),  # each board and each time once
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in ((1, 40), (0, 3000), (1, 60_000))),
    ],
)
def test_the_order_of_power_on_does_not_matter(late: int, late_ms: int) -> None:
    with opened() as boards:
        boards.virtual.reset_board(late, ResetCause.POWER_UP, 0, held_ps=late_ms * MS_PS)
        assert boards.run_to(SAMPLES, late_ms + RECOVERY_MS + GO_ON_MS)
        assert boards.result_ms[0] > late_ms


def check_recovery(boards: StandaloneBoards, within_ms: float = RECOVERY_MS) -> None:
    """Check that results go on by themselves."""
    assert boards.run_to(SAMPLES, within_ms + GO_ON_MS)


@pytest.mark.parametrize(
    ("names", "cause"),
    [
        (PAIR, ResetCause.WATCHDOG),
        (PAIR, ResetCause.BROWN_OUT),
        (CHAIN, ResetCause.PIN),
        pytest.param(PAIR, ResetCause.PIN, marks=pytest.mark.nightly),
        pytest.param(CHAIN, ResetCause.WATCHDOG, marks=pytest.mark.nightly),
        pytest.param(CHAIN, ResetCause.BROWN_OUT, marks=pytest.mark.nightly),
    ],
)
def test_a_board_that_was_reset_is_noticed_and_all_go_on(names: tuple[str, ...], cause: ResetCause) -> None:
    numbers = random.Random(f"{cause} {names}")  # noqa: S311 (no secret)
    with opened(names) as boards:
        for index in range(len(names)):
            boards.run(70 + 30 * numbers.random())
            seen = [boards.read(each, "failures") for each in range(len(names))]
            boards.virtual.reset_board(index, cause)
            check_recovery(boards)
            assert all(boards.read(each, "failures") > seen[each] for each in range(len(names)) if each != index)


@pytest.mark.parametrize(
    ("index", "off_ms"), [(0, 1), (1, 300), (2, 5000), pytest.param(0, 5000, marks=pytest.mark.nightly)]
)
def test_a_power_cut_of_any_board(index: int, off_ms: int) -> None:
    with opened(CHAIN) as boards:
        boards.run(110)
        boards.virtual.reset_board(index, ResetCause.POWER_UP, held_ps=off_ms * MS_PS)
        boards.run(off_ms)
        check_recovery(boards)


@pytest.mark.parametrize(
    ("wire", "cut_ms"), [(0, 3), (1, 200), (0, 4000), pytest.param(1, 4000, marks=pytest.mark.nightly)]
)
def test_a_cut_wire(wire: int, cut_ms: int) -> None:
    with opened(CHAIN) as boards:
        boards.run(110)
        cut(boards, cut_ms, wire)
        boards.run(cut_ms)
        check_recovery(boards)


@pytest.mark.parametrize("wire", [pytest.param(0, marks=pytest.mark.nightly), 1])  # test_a_cut_wire has both
def test_a_wire_that_babbles(wire: int) -> None:
    with opened(CHAIN) as boards:
        boards.run(110)
        babble(boards, wire, wire)
        boards.run(400)
        heal(boards, wire)
        check_recovery(boards, 500)


@pytest.mark.parametrize(
    ("frame_us", "late_inputs", "is_right"),
    [
        (40_000, LateInputs.NEWEST, lambda inputs, dropped: inputs == 10 and dropped == 0),
        (10_000, LateInputs.NEWEST, lambda inputs, dropped: 15 <= inputs <= 19 and 36 <= inputs + dropped <= 40),
        (10_000, LateInputs.REFUSE, lambda inputs, dropped: 12 <= inputs <= 19 and 36 <= inputs + dropped <= 40),
    ],
)
def test_inputs_come_at_their_rate_and_late_ones_are_counted(
    frame_us: int,
    late_inputs: LateInputs,
    is_right: Callable[[int, int], bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rate is higher than `generate` would let pass."""
    monkeypatch.setattr(ProjectStandalone, "check_period", lambda *_: None)
    with opened(standalone=ProjectStandalone(frame_us=frame_us, late_inputs=late_inputs)) as boards:
        boards.run(400)
        assert boards.right >= 8
        assert not boards.wrong
        counters = boards.counters(boards.first)
        assert is_right(counters.inputs, counters.dropped), counters


def test_inputs_that_the_application_does_not_have_are_not_left_out() -> None:
    with opened(standalone=ProjectStandalone(frame_us=40_000)) as boards:
        boards.run(100)
        boards.set(boards.first, "is_silent", 1)
        boards.run(500)
        boards.set(boards.first, "is_silent", 0)
        check_recovery(boards)
        assert boards.counters(boards.first).dropped == 0


@pytest.mark.parametrize("division", [DIVISIONS[0], DIVISIONS[5]], ids=lambda each: each.title)
def test_an_interrupt_of_the_application_waits_for_short_critical_sections_only(division: Division) -> None:
    with standalone_boards(*standalone_project(division)) as boards:
        boards.run(150)
        for index in range(len(division.boards)):
            cycles = interrupt_latencies(boards, index, 150)
            assert min(cycles) >= ENTRY_CYCLES
            assert max(cycles) < LONGEST_WAIT_CYCLES
        assert not boards.wrong


@pytest.mark.parametrize("division", [DIVISIONS[0], DIVISIONS[5]], ids=lambda each: each.title)
def test_an_input_that_is_overrun_is_named_and_its_inference_has_no_result(division: Division) -> None:
    with standalone_boards(*standalone_project(division, overrun=3)) as boards:
        boards.run(200)
        assert boards.right == 0
        assert not boards.wrong
        assert boards.read(boards.first, "reason") == ErrorCode.INPUT_OVERRUN
        assert boards.read(boards.first, "board_of_failure") == boards.first + 1


def test_an_application_that_blocks_is_reset_and_named() -> None:
    with opened() as boards:
        boards.run(100)
        starts = boards.virtual.start_count(boards.first)
        boards.set(boards.first, "blocks", 1)
        boards.run(2600)
        assert boards.virtual.start_count(boards.first) == starts + 1
        assert boards.read(boards.first, "reason") == ErrorCode.APPLICATION_BLOCKED
        check_recovery(boards)
