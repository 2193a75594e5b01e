"""The self-test of a bench: who hears whom, at which baud rates without an error, and the boards' clocks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tinysplit.boards.board import Board, board_title
from tinysplit.boards.link_rates import LOW_RATES, RATES, common_rates
from tinysplit.build.folder import build_folder
from tinysplit.codegen.wiring_projects import generate_wiring_test, wiring_driving
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.progress import steps
from tinysplit.common.protocol_limits import BITS_PER_BYTE, LINK_OVERHEAD_BYTES
from tinysplit.common.tables import counted
from tinysplit.costs.link_options import LinkSettings
from tinysplit.plan.wiring import wire_all
from tinysplit.project.manifest import Project
from tinysplit.project.wiring_file import Trial
from tinysplit_hil.bench.clocks import ClockError, measure_clocks
from tinysplit_hil.bench.flash import flash_rig
from tinysplit_hil.bench.wiring import FINDING_BAUD, FINDING_BYTES, FINDING_FRAMES, pin_title, trial_of
from tinysplit_hil.measure.wiring_client import Count, End, WiringClient
from tinysplit_hil.rig.rig import Rig, open_rig
from tinysplit_hil.rig.rig_file import RigLink

FRAME_BYTES = 256  # payload: short, so that few bits are lost with a header
TRIAL_S = {"virtual": 0.02, "real": 1.0}  # of sending at each rate
LEAST_FRAMES, MOST_FRAMES = 4, 2000
NO_GROUND = "a guess: the two boards have no common ground"
BAD_WIRE = "a guess: a loose wire or a short circuit"

Ends = tuple[End, End]


@dataclass(frozen=True)
class FoundLink:
    """Two UARTs that hear each other, and the trials from the lowest baud rate."""

    ends: Ends
    trials: tuple[Trial, ...]

    @property
    def baud(self) -> int | None:
        """The highest baud rate without an error."""
        return max((trial.baud for trial in self.trials if trial.passed), default=None)


@dataclass(frozen=True)
class BenchCheck:
    """What each link UART has heard at FINDING_BAUD, TX pins that are wired to TX pins, the links, and the clocks.

    Clocks are by board number.
    """

    boards: tuple[Board, ...]
    heard: Mapping[End, Count]
    crossed: tuple[Ends, ...]
    links: tuple[FoundLink, ...]
    clocks: Mapping[int, ClockError]

    @property
    def faults(self) -> tuple[str, ...]:
        """All that is wrong with the wires, each with what to do."""
        faults = (*self._crossed(), *self._one_way(), *self._noise(), *self._bad_links())
        if not faults and not self.links:
            return ("no link UART hears another one: connect TX to RX in both directions, and ground",)
        return faults

    def check(self) -> None:
        """Raise CheckFailedError with all faults."""
        if self.faults:
            raise CheckFailedError("; ".join(self.faults))

    @property
    def rig_links(self) -> tuple[RigLink, ...]:
        """The links that have a rate without an error, for the rig file."""
        return tuple(
            RigLink(
                boards=(link.ends[0].board + 1, link.ends[1].board + 1),
                uarts=(self.uart_name(link.ends[0]), self.uart_name(link.ends[1])),
                baud=link.baud,
            )
            for link in self.links
            if link.baud is not None
        )

    def uart_name(self, end: End) -> str:
        """Return the name of the UART of an end."""
        return self.boards[end.board].link_uarts[end.uart].name

    def title(self, end: End) -> str:
        """Return board and UART of an end, as in messages."""
        return f"{board_title(end.board + 1, self.boards[end.board].name)} {self.uart_name(end)}"

    def _pin(self, end: End, direction: str) -> str:
        return pin_title(self.boards, end, direction)

    def _crossed(self) -> Iterator[str]:
        for first, second in self.crossed:
            pins = f"{self._pin(first, 'TX')} is wired to {self._pin(second, 'TX')}"
            yield f"{pins}: swap the two wires of this link at one end"

    def _one_way(self) -> Iterator[str]:
        for receiver, count in self.heard.items():
            if count.sender == receiver:
                yield f"{self._pin(receiver, 'TX')} is wired to its own RX: wire it to the RX of the other board"
            if count.sender is None or self.heard[count.sender].sender == receiver:
                continue
            there = self.heard[count.sender]
            silence = "hears only noise" if there.is_noise else "does not hear it"
            instead = f"hears {self._pin(there.sender, 'TX')}" if there.sender else silence
            back = self._pin(count.sender, "RX")
            yield (
                f"{self._pin(receiver, 'RX')} hears {self._pin(count.sender, 'TX')}, but {back} {instead}:"
                f" check the wire from {self._pin(receiver, 'TX')} to {back}"
            )

    def _noise(self) -> Iterator[str]:
        heard = {count.sender for count in self.heard.values()}  # whose wires are named by _one_way
        noisy = [end for end, count in self.heard.items() if count.is_noise and end not in heard]
        guess = NO_GROUND if len({end.board for end in noisy}) > 1 else BAD_WIRE
        if noisy:
            yield f"{', '.join(self._pin(end, 'RX') for end in noisy)}: only noise arrives ({guess}): check both"

    def _bad_links(self) -> Iterator[str]:
        for link in self.links:
            if link.baud is None:
                first, second = (self.title(end) for end in link.ends)
                both = all(not each.is_clean for trial in link.trials for each in trial.directions)
                guess = NO_GROUND if both else BAD_WIRE
                yield f"the link between {first} and {second} has errors at every baud rate ({guess}): check both"


def check_bench(
    boards: Sequence[Board],
    rig: str,
    folder: Path,
    programmer: ProgrammerName,
    messages: Console,
    *,
    force: bool = False,
) -> BenchCheck:
    """Generate and build the wiring test in `folder`, flash it where boards do not run it, and test the bench.

    Raises InputError for a rig file or folder that cannot be used, ToolError where flashing or a board fails.
    """
    planned = wire_all(boards, LinkSettings(FINDING_BAUD)) if rig == VIRTUAL else ()
    project = generate_wiring_test(boards, planned, None, folder, force=force)
    build_folder(project, folder, messages)
    flash_rig(project, folder, rig, programmer, messages)
    with open_rig(rig, project, folder) as opened:
        return check_boards(boards, project, opened, messages)


def check_boards(boards: Sequence[Board], project: Project, rig: Rig, messages: Console) -> BenchCheck:
    """Test boards that run the wiring test. Raises ToolError when a board fails."""
    client = WiringClient(project, rig)
    client.begin()
    uarts = [End(board, uart) for board, own in enumerate(boards) for uart in range(len(own.link_uarts))]
    bauds = dict.fromkeys(uarts, FINDING_BAUD)
    with steps(messages, "finding the wires"):
        heard = client.exchange(bauds, FINDING_FRAMES, FINDING_BYTES)
        heard = {end: heard[end] for end in uarts}
        crossed = _find_crossed(client, bauds, heard)
    with steps(messages, f"measuring the clocks of {counted(len(boards), 'board')}"):
        clocks = measure_clocks(client)
    pairs = [
        (end, count.sender)
        for end, count in heard.items()
        if count.sender and heard[count.sender].sender == end and uarts.index(end) < uarts.index(count.sender)
    ]
    links = _try_rates(client, boards, pairs, TRIAL_S[rig.kind], messages)
    return BenchCheck(tuple(boards), heard, crossed, links, clocks)


def _find_crossed(client: WiringClient, bauds: Mapping[End, int], heard: Mapping[End, Count]) -> tuple[Ends, ...]:
    """Return the TX pins that are wired to TX pins: one board after the other listens where it has heard nothing."""
    crossed: dict[frozenset[End], Ends] = {}
    for board in sorted({end.board for end in heard}):
        silent = {end for end, count in heard.items() if end.board == board and count.sender is None}
        if not silent:
            continue
        counts = client.exchange(bauds, FINDING_FRAMES, FINDING_BYTES, at_tx=silent)
        for end in sorted(silent, key=lambda end: end.uart):
            if sender := counts[end].sender:
                crossed.setdefault(frozenset((end, sender)), (end, sender))
    return tuple(crossed.values())


def _try_rates(
    client: WiringClient, boards: Sequence[Board], links: Sequence[Ends], trial_s: float, messages: Console
) -> tuple[FoundLink, ...]:
    """Return the links with their trials. All that have a rate are busy with it at once."""
    rates = {ends: _rates(boards, ends) for ends in links}
    trials: dict[Ends, list[Trial]] = {ends: [] for ends in links}
    for baud in sorted({baud for own in rates.values() for baud in own}):
        busy = [ends for ends, own in rates.items() if baud in own]
        frames = round(trial_s * baud / (BITS_PER_BYTE * (FRAME_BYTES + LINK_OVERHEAD_BYTES)))
        frames = min(max(frames, LEAST_FRAMES), MOST_FRAMES)
        with steps(messages, f"testing at {baud} baud"):
            counts = client.exchange({end: baud for ends in busy for end in ends}, frames, FRAME_BYTES)
        for ends in busy:
            trials[ends].append(trial_of(baud, ends, frames, counts))
    return tuple(FoundLink(ends, tuple(own)) for ends, own in trials.items())


def _rates(boards: Sequence[Board], ends: Ends) -> tuple[int, ...]:
    """Return the rates that both UARTs of a link make, and both boards keep up with."""
    first, second = ((boards[end.board], boards[end.board].link_uarts[end.uart]) for end in ends)
    highest = min(wiring_driving(board, None).highest_baud(board, uart) for board, uart in (first, second))
    return tuple(baud for baud in common_rates(first[1], second[1], (*RATES, *LOW_RATES)) if baud <= highest)
