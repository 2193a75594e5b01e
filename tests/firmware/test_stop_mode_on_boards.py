"""Stop mode between inferences of boards without a host: time, wake-ups by timer, neighbour and host, and faults."""

from contextlib import AbstractContextManager

import pytest

from rigs.faulty_boards import MS_PS
from rigs.standalone_boards import Division, StandaloneBoards, babble, cut, heal, standalone_boards, standalone_project
from tinysplit.common.choices import LowPower
from tinysplit.project.activity import BoardActivity
from tinysplit.project.energy import board_energy_j
from tinysplit.project.standalone import ProjectStandalone
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.protocol import StandaloneCounters
from virtual_stm32 import ResetCause
from virtual_stm32.peripherals import rtc, watchdog

L452, G071, F401, F446 = "nucleo_l452re", "nucleo_g071rb", "nucleo_f401re", "nucleo_f446re"
F072, F091 = "nucleo_f072rb", "nucleo_f091rc"
L073, F746, F302, F303 = "nucleo_l073rz", "nucleo_f746zg", "nucleo_f302r8", "nucleo_f303re"
F103 = "nucleo_f103rb"
H743, H723, L4R5 = "nucleo_h743zi", "nucleo_h723zg", "nucleo_l4r5zi"
G431, G474, WB55, U575 = "nucleo_g431rb", "nucleo_g474re", "nucleo_wb55rg", "nucleo_u575zi_q"
WL55 = "nucleo_wl55jc"
H563, L552 = "nucleo_h563zi", "nucleo_l552ze_q"
PAIR = (L452, G071)
SRAM3 = 0x2004_0000
FRAME_MS = 200
RATE = ProjectStandalone(frame_us=1000 * FRAME_MS, low_power=LowPower.STOP)
AWAKE_MS = 2100  # behind the begin of a run, a host may look in
COUNTED_INPUTS = 4 * list(StandaloneCounters.__dataclass_fields__).index("inputs")
IDENTIFY = Frame(type=0x01, sequence=1)

pytestmark = pytest.mark.slow


def opened(
    names: tuple[str, ...] = PAIR, standalone: ProjectStandalone = RATE
) -> AbstractContextManager[StandaloneBoards]:
    return standalone_boards(*standalone_project(Division("whole layers", names), standalone))


def stopped_shares(boards: StandaloneBoards, ms: float) -> list[float]:
    """Run the boards, and return the share of the time for which each is in stop mode."""
    indices = range(boards.virtual.board_count)
    before_s = [boards.virtual.stopped_s(index) for index in indices]
    boards.run(ms)
    return [(boards.virtual.stopped_s(index) - before_s[index]) * 1000 / ms for index in indices]


def check_running(boards: StandaloneBoards, results: int = 3) -> None:
    """Check that all boards stop, that no input is left out and all results are right, and that no run fails."""
    right, failures = boards.right, boards.read(boards.last, "failures")
    shares = stopped_shares(boards, results * FRAME_MS)
    assert min(shares) > 0.7, shares
    assert boards.right - right == results
    assert not boards.wrong
    assert boards.read(boards.last, "failures") == failures


@pytest.mark.parametrize(
    "names",
    [  # families, each once
        (F401, G071, F446),
        (H743, L452),
        (G071,),
        (L073, F746),
        (G431, F072),
        (F103, F303),
        (WB55, WL55),
        (U575, H563),
        *(  # families that are above, but for the L5, beside others or each other
            pytest.param(names, marks=pytest.mark.nightly)
            for names in (PAIR, (H743, L4R5), (G431, G474), (F072, F091), (U575, G071), (H563, L452), (L552, H563))
        ),
        pytest.param((H723, L452), marks=pytest.mark.nightly),
        pytest.param((F303, F302), marks=pytest.mark.nightly),
    ],
    ids="-".join,
)
def test_boards_stop_between_inputs(names: tuple[str, ...]) -> None:
    with opened(names) as boards:
        boards.run(AWAKE_MS)
        check_running(boards)


def test_stop_mode_retains_sram3_of_an_l4_plus() -> None:
    """RM0432: SRAM3 retention in Stop 2 mode."""
    with opened((L4R5,)) as boards:
        boards.virtual.write_word(0, SRAM3 + 0x8000, 0x12345678)
        boards.run(AWAKE_MS)
        check_running(boards, 1)
        assert boards.virtual.read_word(0, SRAM3 + 0x8000) == 0x12345678


@pytest.mark.parametrize("lsi_hz", [29_000, 35_000])
def test_the_period_does_not_depend_on_the_slow_oscillator(lsi_hz: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """DS11912 allows 29.5 to 34 kHz."""
    for module in (rtc, watchdog):
        monkeypatch.setattr(module, "LSI_HZ", lsi_hz)
    with opened() as boards:
        boards.run(AWAKE_MS)
        inputs = boards.symbol(boards.first, "standalone_counters") + COUNTED_INPUTS
        seen, times_ms = boards.virtual.read_word(boards.first, inputs), list[float]()
        while len(times_ms) < 6:
            boards.virtual.run_until(boards.virtual.time_ps + MS_PS // 2)
            if boards.virtual.read_word(boards.first, inputs) != seen:
                seen += 1
                times_ms.append(boards.virtual.time_ps / MS_PS)
        assert (times_ms[-1] - times_ms[0]) / 5 == pytest.approx(FRAME_MS, rel=0.01)


def test_energy_is_as_estimated() -> None:
    with opened() as boards:
        boards.run(AWAKE_MS)
        measured = boards.activities(5 * FRAME_MS)
        assert boards.project.standalone
        assert boards.project.standalone.estimated
        joules = [energy_j(boards, each) / 5 for each in measured]
        estimated = [energy_j(boards, each) for each in boards.project.standalone.estimated.boards]
        # Layers take half a millisecond, drivers more, whose estimate is off: `benchmarks standalone power` has KWS.
        assert sum(estimated) == pytest.approx(sum(joules), rel=0.2)


def energy_j(boards: StandaloneBoards, activity: BoardActivity) -> float:
    joules = board_energy_j(boards.project.board(activity.board), activity)
    assert joules is not None
    return joules


@pytest.mark.parametrize(
    ("index", "cause"),
    [
        (0, ResetCause.PIN),
        (1, ResetCause.WATCHDOG),
        pytest.param(0, ResetCause.WATCHDOG, marks=pytest.mark.nightly),
        pytest.param(1, ResetCause.PIN, marks=pytest.mark.nightly),
    ],
)
def test_a_board_that_was_reset_is_noticed_by_a_neighbour_that_stops(index: int, cause: ResetCause) -> None:
    with opened() as boards:
        boards.run(AWAKE_MS + 77)
        boards.virtual.reset_board(index, cause)
        before = boards.right
        boards.run(250 + 2 * FRAME_MS)
        assert boards.right > before
        boards.run(AWAKE_MS)
        check_running(boards)


@pytest.mark.parametrize(("index", "off_ms"), [(0, 300), (1, 5000)])
def test_a_power_cut(index: int, off_ms: int) -> None:
    with opened() as boards:
        boards.run(AWAKE_MS + 33)
        boards.virtual.reset_board(index, ResetCause.POWER_UP, held_ps=off_ms * MS_PS)
        boards.run(off_ms)
        before = boards.right
        boards.run(250 + 2 * FRAME_MS)
        assert boards.right > before
        assert not boards.wrong


def test_a_cut_wire_and_one_that_babbles() -> None:
    with opened() as boards:
        boards.run(AWAKE_MS)
        cut(boards, 4000)
        boards.run(4000)
        before = boards.right
        boards.run(250 + 2 * FRAME_MS)
        assert boards.right > before
        babble(boards, 1)
        boards.run(500)
        heal(boards)
        boards.run(500 + AWAKE_MS)
        check_running(boards)


def test_a_host_wakes_a_board_and_is_answered_when_it_asks_again() -> None:
    with opened() as boards:
        boards.run(AWAKE_MS)
        check_running(boards, 1)
        assert replies(boards) == []
        assert replies(boards) == [IDENTIFY.type | 0x80]
        assert stopped_shares(boards, FRAME_MS)[1] == 0
        boards.run(AWAKE_MS)
        check_running(boards)


def replies(boards: StandaloneBoards) -> list[int]:
    """Ask the second board who it is, and return the types of the frames that it has sent 500 ms later."""
    port = boards.virtual.host_port(1)
    boards.virtual.set_baud(1, boards.project.host_baud)
    port.received.clear()
    boards.virtual.write(1, IDENTIFY.encode())
    boards.run(500)
    return [frame.type for frame in FrameDecoder().feed(bytes(port.received))]


def test_a_board_without_an_input_asks_for_one_whenever_it_wakes() -> None:
    with opened(standalone=ProjectStandalone(low_power=LowPower.STOP)) as boards:
        boards.run(100)
        boards.set(boards.first, "is_silent", 1)
        boards.run(AWAKE_MS)
        assert min(stopped_shares(boards, 3000)) > 0.9
        boards.set(boards.first, "is_silent", 0)
        before = boards.right
        boards.run(2000)
        assert boards.right > before + 10
        assert boards.read(boards.last, "failures") == 0
