"""T in parts: the time on the wire, that of the drivers, and waiting."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tinysplit.project.manifest import Project, ProjectCut
from tinysplit_hil.measure.timeline.recording import Recording
from tinysplit_hil.measure.timeline.wire import wire_seconds_of
from tinysplit_hil.wire.protocol import RecordKind


@dataclass(frozen=True)
class TransferParts:
    """A transfer, in seconds: T = wire + driver.

    `driver_s`: copies, checks and interrupts, by the clocks of both boards. `waiting_s`: of the whole tensor, for room
    at the receiver before it leaves, and for a receiver that is busy. `hand_off_s`: from the end of the step before on
    the sender to the begin of the step behind on the receiver, on aligned clocks, within `uncertainty_s`. A transfer
    that is streamed overlaps with layers: None.
    """

    cut: ProjectCut
    wire_s: float
    driver_s: float
    waiting_s: float | None
    hand_off_s: float | None
    uncertainty_s: float

    @property
    def t_s(self) -> float:
        """T of this transfer."""
        return self.wire_s + self.driver_s

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "number": self.cut.number,
            "wire_s": self.wire_s,
            "driver_s": self.driver_s,
            "waiting_s": self.waiting_s,
            "hand_off_s": self.hand_off_s,
            "uncertainty_s": self.uncertainty_s,
        }


def parts_of(project: Project, recording: Recording) -> Iterator[TransferParts]:
    """Yield the parts of every transfer of the slowest copy."""
    for cut in project.slowest.cuts:
        sent = recording.sent[cut.number]
        sending = recording.step(cut.from_board, RecordKind.TRANSFER, cut.number)
        received = recording.step(cut.to_board, RecordKind.COPY, cut.number)
        wire_s = wire_seconds_of(project, cut)
        t_s = sending.own_s - cut.acknowledgement_s + received.own_s
        arrived_s = sent.acknowledged_s - cut.acknowledgement_s
        waiting_s = hand_off_s = None
        if not cut.is_streamed:
            room_s = max(0.0, sent.started_s - sending.begin_s - sent.copied_s)
            busy_s = max(0.0, received.begin_s - arrived_s)
            waiting_s = room_s + busy_s
            hand_off_s = received.end_s - sending.begin_s
        uncertainty_s = recording.uncertainty_s[cut.from_board] + recording.uncertainty_s[cut.to_board]
        yield TransferParts(cut, wire_s, t_s - wire_s, waiting_s, hand_off_s, uncertainty_s)
