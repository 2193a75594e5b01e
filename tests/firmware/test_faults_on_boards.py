"""Faults strike virtual boards in an inference: it ends right or with a name in time, and the next one is right."""

import random
from collections.abc import Callable, Iterator

import pytest

from rigs.faulty_boards import MS_PS, FaultyBoards, build_small_network, faulty_boards
from session.profiles import cases
from session.shared_folder import made_once
from tinysplit.project.manifest import Project
from tinysplit_hil.wire.protocol import ErrorCode
from virtual_stm32 import ResetCause
from virtual_stm32.line_faults import LineFaults

SEEDS = cases(quick=1, full=1, nightly=20)
JOINED_MS, INFERENCE_MS = 50, 75  # boards that fail earlier are reset by the host, with other errors or none
LONGEST_S = 5.0
PAIRS = [
    pytest.param(("nucleo_g071rb", "nucleo_g071rb"), id="g0-g0"),
    pytest.param(("nucleo_h743zi", "nucleo_f401re"), id="h7-f4", marks=pytest.mark.nightly),
]

Strike = Callable[[FaultyBoards, int, random.Random], None]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=PAIRS)
def boards(request: pytest.FixtureRequest) -> Iterator[FaultyBoards]:
    names = request.param
    folder = made_once(f"faults-{'-'.join(names)}", lambda out: build_small_network(out, *names)) / "project"
    with faulty_boards(Project.read(folder), folder) as opened:
        yield opened


def reset(boards: FaultyBoards, index: int, numbers: random.Random) -> None:
    boards.virtual.reset_board(index, numbers.choice((ResetCause.PIN, ResetCause.BROWN_OUT)))


def hang(boards: FaultyBoards, index: int, _numbers: random.Random) -> None:
    boards.virtual.jump(index, boards.endless_loops[index])


def overflow(boards: FaultyBoards, index: int, numbers: random.Random) -> None:
    boards.virtual.write_word(index, boards.symbol(index, "_stack_start"), numbers.randrange(1 << 32))


def flip(boards: FaultyBoards, index: int, numbers: random.Random) -> None:
    at = numbers.randrange(boards.symbol(index, "_weights_start"), boards.symbol(index, "_weights_end"))
    boards.virtual.flip_flash_bit(index, at, 3)
    boards.mend_by(lambda: boards.virtual.flip_flash_bit(index, at, 3))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    ("strike", "names", "index"),
    [
        pytest.param(*fault, index, marks=() if index == number % 2 else pytest.mark.nightly)
        for number, fault in enumerate(
            [
                (reset, ["restarted in mid-run (cause: reset pin)", "restarted in mid-run (cause: power)"]),
                (hang, ["restarted in mid-run (cause: watchdog)"]),
                (overflow, ["STACK_OVERFLOW"]),
                (flip, ["FLASH_CORRUPT"]),
            ]
        )
        for index in (0, 1)
    ],
)
def test_a_board_that_fails_is_named_and_the_next_inference_is_right(
    boards: FaultyBoards, strike: Strike, names: list[str], index: int, seed: int
) -> None:
    numbers = random.Random(seed)  # noqa: S311 (no secret)
    at_ps = boards.virtual.time_ps + round(numbers.uniform(JOINED_MS, INFERENCE_MS) * MS_PS)
    boards.clock.strike_at(at_ps, lambda: strike(boards, index, numbers))
    outcome = boards.infer(seed)
    boards.heal()
    assert outcome.error is not None
    assert any(name in outcome.error for name in names), outcome.error
    assert f"board {index + 1} " in outcome.error
    assert outcome.seconds < LONGEST_S
    assert boards.infer(seed + 1).is_right


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    "faults",
    [
        LineFaults(bit_error_rate=3e-4),
        LineFaults(loss_rate=1e-3, doubling_rate=1e-3, insertion_rate=1e-3),
        LineFaults(framing_error_rate=1e-3, overrun_rate=1e-3),
        LineFaults(burst_rate=1e-3),
    ],
)
def test_tensors_arrive_over_bad_links(boards: FaultyBoards, faults: LineFaults, seed: int) -> None:
    for uart in boards.link_uarts:
        boards.virtual.set_faults(uart, faults)
    outcome = boards.infer(seed)
    boards.heal()
    assert outcome.error is None
    assert outcome.is_right


@pytest.mark.parametrize("at_ms", [1, 45])
def test_a_link_without_an_answer_is_named_by_either_end(boards: FaultyBoards, at_ms: int) -> None:
    begin_ps = boards.virtual.time_ps + at_ms * MS_PS
    for uart in boards.link_uarts:
        boards.virtual.set_faults(uart, LineFaults(cuts_ps=((begin_ps, begin_ps + 3000 * MS_PS),)))
    outcome = boards.infer(0)
    boards.heal()
    assert outcome.error is not None
    assert "no answer on the link" in outcome.error
    assert outcome.seconds < LONGEST_S
    assert boards.infer(1).is_right


def test_boards_that_only_wait_name_a_dead_neighbour_and_go_on_when_it_answers(boards: FaultyBoards) -> None:
    assert boards.infer(0).is_right
    clients = boards.rig.clients(boards.project)

    def errors() -> list[int]:
        return [boards.ask(clients, client.identify()).error for client in clients.values()]

    run = max(boards.ask(clients, client.identify()).run for client in clients.values()) + 1
    for client in clients.values():
        boards.ask(clients, client.reset(run))
    boards.settle(10)
    for uart in boards.link_uarts:
        boards.virtual.set_faults(uart, LineFaults(loss_rate=1))
    boards.settle(3000)
    assert errors() == [ErrorCode.LINK_NO_ANSWER] * 2
    boards.heal()
    boards.settle(200)
    assert errors() == [0, 0]
