"""What boards repeat for every inference: the steps of each board in their order, and the transfers between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from tinysplit.common.choices import InputSource
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.topology import Cut, Pair


class Kind(StrEnum):
    """Kind of a step: the network's input arrives, layers run, a tensor is sent or received, the output is given.

    GRANT and SENT: see `memory/schedule.py`.
    """

    INPUT = "input"
    RUN = "run"
    GRANT = "grant"
    SEND = "send"
    SENT = "sent"
    RECEIVE = "receive"
    OUTPUT = "output"


STAGED_KINDS = (Kind.INPUT, Kind.SEND, Kind.RECEIVE, Kind.OUTPUT)


class Rows(NamedTuple):
    """The parts of a RUN whose tensors are streamed: all are computed `passes` times, each for the same time.

    Before a part the first `needed_bytes` of the tensor that transfer `takes` brings must have arrived; after it, in
    the last pass, the first `done_bytes` of what transfer `gives` sends are complete. -1: no such transfer.
    """

    needed_bytes: tuple[int, ...]
    done_bytes: tuple[int, ...]
    passes: int = 1
    takes: int = -1
    gives: int = -1


class BoardStep(NamedTuple):
    """A step of a device; the layers between two transfers are one RUN, of `seconds`.

    `tensor` is the index of the layer that computes it, or NETWORK_INPUT, of `n_bytes`; `transfer` is an index of
    `Program.transfers`. `layers` are the first and the last layer of a RUN, of the whole network. `driver_s`: see
    `with_drivers`.
    """

    kind: Kind
    device: int
    tensor: int
    transfer: int = -1
    seconds: float = 0.0
    is_staged: bool = False  # the tensor has a buffer beside the arena, so that the board does not wait for the line
    n_bytes: int = 0
    layers: tuple[int, int] = (-1, -1)
    rows: Rows | None = None  # None: no tensor of the RUN is streamed
    driver_s: float = 0.0

    @property
    def name(self) -> str:
        """What a timeline calls it; layers and cuts count from 1."""
        if self.transfer >= 0:
            return f"cut {self.transfer + 1}"
        if self.kind is not Kind.RUN:
            return self.kind.value
        first, last = self.layers
        return f"layer {first + 1}" if first == last else f"layers {first + 1}-{last + 1}"


@dataclass(frozen=True)
class Stream:
    """How a tensor crosses a link while rows of it are computed.

    The driver at each end takes `frame_s` of the CPU for a frame; `latency_s` pass after its last bit until it is
    used. The sender's driver chooses frames `chunk_bytes` ahead of the line. `frame_share`: see `frames.py`.
    """

    frame_s: float
    latency_s: float
    chunk_bytes: int
    frame_share: int


@dataclass(frozen=True)
class Program:
    """One pipeline: its boards take their `steps` in this order. `transfers` are the tensors on links, hop by hop."""

    handoff: Handoff
    transfers: tuple[Cut, ...]
    steps: tuple[BoardStep, ...]
    is_distributed: bool = False  # boards compute while tensors cross that have no buffers
    half_duplex: frozenset[Pair] = frozenset()
    streams: Mapping[int, Stream] = field(default_factory=dict)  # by transfer

    @property
    def devices(self) -> tuple[int, ...]:
        """The devices that take part."""
        return tuple(dict.fromkeys(step.device for step in self.steps))

    @property
    def computing_s(self) -> float:
        """Seconds of all layers: L (Santamaria 2021, formula 2)."""
        return sum(step.seconds for step in self.steps if step.kind is Kind.RUN)

    @property
    def transfers_s(self) -> float:
        """Seconds of all transfers as wholes: T (Santamaria 2021, formula 4)."""
        return sum(cut.seconds for cut in self.transfers)

    @property
    def blocking(self) -> tuple[BoardStep, ...]:
        """The transfers for which a board waits, as it lacks the RAM for a buffer; none where boards go on."""
        if self.is_distributed:
            return ()
        kinds = {*STAGED_KINDS} - ({Kind.INPUT} if self.handoff.input_source is InputSource.BOARD else set())
        return tuple(step for step in self.steps if step.kind in kinds and not step.is_staged)


def with_drivers(steps: Sequence[BoardStep], parts: Handoff, transfers: Sequence[Cut]) -> tuple[BoardStep, ...]:
    """Return the steps of a distributed network with `driver_s`: what links' drivers take of the CPU for tensors.

    Interrupts move tensors while a board computes, and while it waits. A RUN begins `driver_s` later; a wait ends
    `driver_s` after it began, or when the tensor has come or left, whichever is later. What a tensor that comes takes
    counts in the first wait since the last RUN, as what came beside that RUN made it longer. What a tensor that is sent
    takes counts in the next RUN, and in waits before it as far as it crosses in the time of the tensor waited for.
    """
    by_device: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        by_device.setdefault(step.device, []).append(number)
    driver_s = [0.0] * len(steps)
    for numbers in by_device.values():
        sent_s, first = dict[int, float](), -1  # of the transfers that cross; the first wait since the last RUN
        for number in numbers:
            step = steps[number]
            if step.kind is Kind.SEND:
                sent_s[step.transfer] = parts.send_s[step.tensor][step.device]
            elif step.kind is Kind.RUN and step.seconds:
                driver_s[number] = sum(sent_s.values())
                sent_s, first = {}, -1
            elif step.kind in {Kind.RECEIVE, Kind.SENT}:
                first = number if first < 0 else first
                if step.kind is Kind.RECEIVE:
                    driver_s[first] += parts.receive_s[step.tensor][step.device]
                for sent, left_s in sent_s.items():
                    share = _share_beside(transfers[sent], transfers[step.transfer], parts)
                    driver_s[first] += share * left_s
                    sent_s[sent] = (1 - share) * left_s
    return tuple(step._replace(driver_s=own_s) for step, own_s in zip(steps, driver_s, strict=True))


def _share_beside(sent: Cut, awaited: Cut, parts: Handoff) -> float:
    """Return the share of a tensor that crosses while another one does."""
    sent_s, awaited_s = (parts.wire_s[cut.after_layer][cut.sender][cut.receiver] for cut in (sent, awaited))
    return min(1.0, awaited_s / sent_s) if sent_s else 1.0
