"""The wiring test: finds links that are not wired as planned, and the highest baud rate at which nothing is lost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from tinysplit import __version__
from tinysplit.boards.board import Board, board_title
from tinysplit.boards.link_rates import common_rates
from tinysplit.build.platformio import build_projects
from tinysplit.codegen.wiring_projects import generate_wiring_test, wiring_driving
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.progress import steps
from tinysplit.common.protocol_limits import LINK_PAYLOAD_BYTES
from tinysplit.common.tables import counted
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.transfers import check_connected
from tinysplit.plan.wiring import Link, wire_all
from tinysplit.project.manifest import Project, ProjectLink
from tinysplit.project.printing import wiring_text
from tinysplit.project.wiring_file import Direction, Trial, WiringBoard, WiringFile, WiringLink
from tinysplit_hil.bench.flash import flash_rig
from tinysplit_hil.measure.wiring_client import Count, End, WiringClient, ends_of
from tinysplit_hil.rig.rig import Rig, check_rig, open_rig
from tinysplit_hil.rig.rig_file import RigFile, read_rig_file

VIRTUAL_TEST_BYTES, REAL_TEST_BYTES = 16_384, 262_144  # by default, in each direction
FLASHING = "{rig} has no serial_number of each board: flash {folder} with another program, if that is not done yet"
FINDING_FRAMES, FINDING_BYTES = 16, 64  # short frames, some of which get over a bad line, too
FINDING_BAUD = 115_200  # or the lowest rate that is asked for


@dataclass(frozen=True)
class WiringRequest:
    """What is tested, with how many bytes in each direction; None: what suffices for the kind of boards.

    With `is_auto` the highest baud rate is searched for, but for links that the settings name.
    """

    boards: tuple[Board, ...]
    links: LinkSettings
    is_auto: bool
    test_bytes: int | None = None

    def frames(self, kind: str) -> int:
        """Return the number of frames for a kind of boards."""
        default = VIRTUAL_TEST_BYTES if kind == VIRTUAL else REAL_TEST_BYTES
        return -(-(self.test_bytes or default) // LINK_PAYLOAD_BYTES)


@dataclass(frozen=True)
class LinkCandidate:
    """A link of a wiring test, and the rates to try on it, from the highest."""

    link: Link
    rates: tuple[int, ...]


def candidates_of(boards: Sequence[Board], settings: LinkSettings, *, is_auto: bool) -> tuple[LinkCandidate, ...]:
    """Return the links between `boards`, and the rates that both ends of each can make without losing bytes.

    With `is_auto`, links that the settings do not name have all of them, the others the rate of the settings.

    Raises UsageError for a rate that two boards cannot make, or too few UARTs, InputError for boards without a link.
    """
    check_connected(boards, settings)
    links = wire_all(boards, settings)
    named = {link.boards for link in settings.named}
    drivings = [wiring_driving(board, settings.driver) for board in boards]

    def rates_of(link: Link) -> tuple[int, ...]:
        if not is_auto or link.boards in named:
            return (link.baud,)
        first, second = link.ends
        highest = min(drivings[end.board].highest_baud(boards[end.board], end.uart) for end in link.ends)
        return tuple(baud for baud in common_rates(first.uart, second.uart) if baud <= highest)

    return tuple(LinkCandidate(link, rates_of(link)) for link in links)


def run_wiring_test(
    request: WiringRequest,
    rig: str,
    folder: Path,
    messages: Console,
    programmer: ProgrammerName = ProgrammerName.OPENOCD,
    *,
    force: bool = False,
) -> WiringFile:
    """Generate and build the programs of a wiring test in `folder`, flash real boards that lack them, and run them.

    Boards of a rig file without probes have to run them already.

    Raises CheckFailedError, which names links and pins, where a link is not wired as planned, or no rate passes; the
    other errors are those of `candidates_of`, `build_projects`, `flash_rig` and `open_rig`.
    """
    check_rig(rig)
    candidates = candidates_of(request.boards, request.links, is_auto=request.is_auto)
    links = [candidate.link for candidate in candidates]
    project = generate_wiring_test(request.boards, links, request.links.driver, folder, force=force)
    with steps(messages, f"building the wiring test of {counted(len(request.boards), 'board')} in {folder}"):
        build_projects([folder / board.directory for board in project.boards])
    for link in project.links:
        messages.print(wiring_text(link), highlight=False, markup=False, soft_wrap=True)
    if rig != VIRTUAL and _lacks_probes(read_rig_file(Path(rig))):
        messages.print(FLASHING.format(folder=folder, rig=rig), highlight=False, markup=False, soft_wrap=True)
    else:
        flash_rig(project, folder, rig, programmer, messages)
    with open_rig(rig, project, folder) as boards:
        return find_rates(request, candidates, project, boards, messages)


def _lacks_probes(rig: RigFile) -> bool:
    return not rig.virtual and not all(board.probe for board in rig.board)


def find_rates(
    request: WiringRequest, candidates: Sequence[LinkCandidate], project: Project, rig: Rig, messages: Console
) -> WiringFile:
    """Find the wiring and the highest rate of every link, on boards that run the wiring test. Errors as above."""
    client = WiringClient(project, rig)
    client.begin()
    with steps(messages, f"finding the links between {rig.kind} boards"):
        possible_baud = min(candidate.rates[0] for candidate in candidates)
        _check_wiring(request.boards, [candidate.link for candidate in candidates], possible_baud, client)
    tests = [_LinkTest(each.link, ends_of(request.boards, each.link), [*each.rates]) for each in candidates]
    _try_rates(tests, request, client, request.frames(rig.kind), messages)
    return WiringFile(
        tinysplit_version=__version__,
        rig="virtual boards" if rig.kind == VIRTUAL else rig.note,
        clock=request.boards[0].clock_source,
        boards=tuple(WiringBoard(number=i, name=b.name, sha256=b.sha256) for i, b in enumerate(request.boards, 1)),
        links=tuple(_tested(project.link(*(board + 1 for board in test.link.boards)), test.trials) for test in tests),
    )


def _tested(planned: ProjectLink, trials: Sequence[Trial]) -> WiringLink:
    """Return a link for the wiring file; the last of its trials has passed."""
    return WiringLink(
        boards=planned.boards,
        uarts=planned.uarts,
        drivers=planned.drivers,
        baud=trials[-1].baud,
        tested_bytes=trials[-1].directions[0].sent_frames * LINK_PAYLOAD_BYTES,
        trials=tuple(trials),
    )


# Wiring


def _check_wiring(boards: Sequence[Board], links: Sequence[Link], possible_baud: int, client: WiringClient) -> None:
    """Raise CheckFailedError with all faults unless every link connects its two ends in both directions."""
    uarts = [End(board, uart) for board, own in enumerate(boards) for uart in range(len(own.link_uarts))]
    baud = min(FINDING_BAUD, possible_baud)
    counts = client.exchange(dict.fromkeys(uarts, baud), FINDING_FRAMES, FINDING_BYTES)
    faults = [fault for link in links for fault in _faults(boards, link, counts)]
    if faults:
        raise CheckFailedError(f"{'; '.join(faults)}: check these wires, and ground, and test again")


def _faults(boards: Sequence[Board], link: Link, counts: Mapping[End, Count]) -> Iterator[str]:
    ends = ends_of(boards, link)
    heard = {count.sender for count in counts.values()}
    if not any(counts[end].is_anything or end in heard for end in ends):
        yield f"nothing arrives in either direction of the {_title(link, boards)}"
        return
    for receiver, sender in (ends, ends[::-1]):
        if counts[receiver].sender != sender:
            yield _fault(boards, receiver, sender, counts)


def _fault(boards: Sequence[Board], receiver: End, sender: End, counts: Mapping[End, Count]) -> str:
    """Return what a receiver hears in place of `sender`, or else where `sender` is heard."""
    here, there = pin_title(boards, receiver, "RX"), pin_title(boards, sender, "TX")
    count = counts[receiver]
    if count.sender is not None:
        return f"{here} is connected to {pin_title(boards, count.sender, 'TX')}, not to {there}"
    if count.is_anything:
        return f"{here} hears only noise from {there}"
    others = [pin_title(boards, end, "RX") for end, each in counts.items() if each.sender == sender]
    return f"{here} does not hear {there}{f', which is connected to {others[0]}' if others else ''}"


def pin_title(boards: Sequence[Board], end: End, direction: str) -> str:
    """Return the pin of an end, "TX" or "RX", as in messages."""
    board = boards[end.board]
    uart = board.link_uarts[end.uart]
    pin = uart.tx if direction == "TX" else uart.rx
    return f"{board_title(end.board + 1, board.name)} {uart.name} {direction} ({pin.name})"


def _title(link: Link, boards: Sequence[Board]) -> str:
    ends = (
        f"{board_title(board + 1, boards[board].name)} {uart.name} (TX {uart.tx.name}, RX {uart.rx.name})"
        for board, uart in link.ends
    )
    return f"link between {' and '.join(ends)}"


# Rates


@dataclass
class _LinkTest:
    """A link that is tested: the rates that are left, from the highest, and the trials so far."""

    link: Link
    ends: tuple[End, End]
    rates: list[int]
    trials: list[Trial] = field(default_factory=list)


def _try_rates(
    tests: Sequence[_LinkTest], request: WiringRequest, client: WiringClient, frames: int, messages: Console
) -> None:
    """Test all links at once, until each has passed. After an error, a link takes its next lower rate."""
    while True:
        with steps(messages, f"testing at {', '.join(str(test.rates[0]) for test in tests)} baud"):
            counts = client.exchange({end: test.rates[0] for test in tests for end in test.ends}, frames)
        for test in tests:
            test.trials.append(trial_of(test.rates[0], test.ends, frames, counts))
        failed = [test for test in tests if not test.trials[-1].passed]
        if not failed:
            return
        for test in failed:
            del test.rates[0]
            if not test.rates:
                raise CheckFailedError(_failure(_title(test.link, request.boards), test.trials[-1]))


def trial_of(baud: int, ends: tuple[End, End], frames: int, counts: Mapping[End, Count]) -> Trial:
    """Return what has arrived at both ends of a link, from each of which `frames` frames were sent."""
    first, second = (
        Direction(
            to_board=end.board + 1,
            sent_frames=frames,
            good_frames=counts[end].good,
            damaged_frames=counts[end].damaged,
            line_errors=counts[end].line_errors,
            bit_errors=counts[end].bit_errors,
        )
        for end in ends
    )
    return Trial(baud=baud, directions=(first, second))


def _failure(title: str, trial: Trial) -> str:
    errors = ", ".join(
        f"of {each.sent_frames} frames to board {each.to_board} {each.good_frames} arrived, "
        f"with {each.line_errors} line errors"
        for each in trial.directions
        if not each.is_clean
    )
    return f"{title} fails at {trial.baud} baud ({errors}): use shorter wires, check ground, or choose a lower rate"
