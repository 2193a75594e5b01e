"""What sets the period of a steady stream: the board, the line or the host's port that is busy for most of it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tinysplit.common.texts.spans import spans_text
from tinysplit.timing.program import BoardStep, Kind, Program
from tinysplit.timing.topology import pair_of


class Place(StrEnum):
    """Where time passes."""

    BOARD = "board"
    LINK = "link"
    HALF_DUPLEX_LINK = "half-duplex link"
    INPUT = "input"  # at the host's port of a board
    OUTPUT = "output"


class Busy(NamedTuple):
    """A place and the seconds for which an inference keeps it busy; `receiver` is the other end of a link, else -1."""

    seconds: float
    place: Place
    device: int
    receiver: int = -1


@dataclass(frozen=True)
class Bottleneck:
    """The place that is busy for the largest share of `period_s`, and the `layers` (from 0) of a board."""

    busy: Busy
    period_s: float
    layers: tuple[int, ...] = ()

    @classmethod
    def of(cls, program: Program, working_s: Mapping[int, float], period_s: float) -> "Bottleneck":
        """Return that of a program of which boards work for `working_s` by device, with outputs every `period_s`."""
        busy = max([*_boards(program, working_s, period_s), *_lines(program), *_ports(program)])
        runs = [step.layers for step in program.steps if step.kind is Kind.RUN and step.device == busy.device]
        layers = sorted({layer for first, last in runs for layer in range(max(first, 0), last + 1)})
        return cls(busy, period_s, tuple(layers) if busy.place is Place.BOARD else ())

    @property
    def share(self) -> float:
        """Share of the period in which the place is busy, at most 1."""
        return min(1.0, self.busy.seconds / self.period_s) if self.period_s else 1.0


def bottleneck_text(place: Place, boards: Sequence[str], layers: Sequence[int], share: float) -> str:
    """Return a bottleneck in words: `boards` are titles, of the sender first; `layers` are numbers from 1."""
    first, last = boards[0], boards[-1]
    where = {
        Place.BOARD: f"{first}, layers {spans_text(layers)}",
        Place.LINK: f"the link from {first} to {last}",
        Place.HALF_DUPLEX_LINK: f"the half-duplex link of {first} and {last}",
        Place.INPUT: f"the host's port of {first}, where the input arrives",
        Place.OUTPUT: f"the host's port of {first}, where the output leaves",
    }
    return f"{where[place]}: busy for {share:.0%} of the period"


def _boards(program: Program, working_s: Mapping[int, float], period_s: float) -> Iterator[Busy]:
    """Yield the time of each board: its work, and waits for transfers that have no buffers."""
    waits_s: dict[int, float] = defaultdict(float)
    for step in program.blocking:
        waits_s[step.device] += _line_s(program, step)
    for device in program.devices:
        yield Busy(min(period_s, working_s[device] + waits_s[device]), Place.BOARD, device)


def _line_s(program: Program, step: BoardStep) -> float:
    """Return the seconds of a transfer on its line; none of a tensor that crosses while its rows are computed."""
    if step.kind in {Kind.INPUT, Kind.OUTPUT}:
        return program.handoff.host_s[step.device][step.kind is Kind.OUTPUT]
    if step.transfer in program.streams:
        return 0.0
    cut = program.transfers[step.transfer]
    return program.handoff.wire_s[cut.after_layer][cut.sender][cut.receiver]


def _lines(program: Program) -> Iterator[Busy]:
    """Yield the time of each direction of a link, of both together where it is half-duplex."""
    taken_s: dict[tuple[Place, int, int], float] = defaultdict(float)
    for cut in program.transfers:
        ends, pair = (cut.sender, cut.receiver), pair_of(cut.sender, cut.receiver)
        key = (Place.HALF_DUPLEX_LINK, *pair) if pair in program.half_duplex else (Place.LINK, *ends)
        taken_s[key] += program.handoff.wire_s[cut.after_layer][cut.sender][cut.receiver]
    for (place, sender, receiver), seconds in taken_s.items():
        yield Busy(seconds, place, sender, receiver)


def _ports(program: Program) -> Iterator[Busy]:
    """Yield the time of each direction of the host's port of a board."""
    for step in program.steps:
        in_s, out_s = program.handoff.host_s[step.device]
        if step.kind is Kind.INPUT:
            yield Busy(in_s + program.handoff.input_reply_s(step.device), Place.INPUT, step.device)
        elif step.kind is Kind.OUTPUT:
            yield Busy(out_s, Place.OUTPUT, step.device)
