"""Records inferences with the begin and end of every step of every board, in the time of the host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tinysplit.common.errors import ToolError
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.boards import Boards
from tinysplit_hil.measure.measure import MEASURED, expected_records, read_times
from tinysplit_hil.measure.stream import OUTPUTS_OF_A_PERIOD, stream_through
from tinysplit_hil.measure.timeline.clocks import AlignedClock, read_clocks
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.protocol import RecordKind, Sending, TimeRecord
from tinysplit_hil.wire.tasks import Task

MOST_RECORDINGS = 3
CUTS = (RecordKind.TRANSFER, RecordKind.COPY, RecordKind.GRANT, RecordKind.SENT)  # steps of cuts, which count from 1


@dataclass(frozen=True)
class RecordedStep:
    """A step of a board: a layer, from 1, a transfer, by its cut from 1, or the network's input or output.

    `begin_s` and `end_s` include waits, `own_s` does not; all are in seconds, and the first two begin with the
    inference. The first step of a board begins when the inference does, or with the input, or, where others run before,
    when it waits no longer. `links_s`: of the time between, what the links took in interrupts.
    """

    kind: RecordKind
    number: int
    begin_s: float
    end_s: float
    own_s: float
    links_s: float

    @property
    def seconds(self) -> float:
        """Its length with waits."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class SentTensor:
    """A transfer on its sender: first bit and acknowledgement in seconds from the begin, and the copy before it."""

    started_s: float
    acknowledged_s: float
    copied_s: float


@dataclass(frozen=True)
class Recording:
    """One inference: steps of the boards by number, tensors by the numbers of their cuts.

    It was the last one of `streamed` inputs. `uncertainty_s`: of the alignment of each board's clock with the host's.
    """

    steps: Mapping[int, Sequence[RecordedStep]]
    sent: Mapping[int, SentTensor]
    uncertainty_s: Mapping[int, float]
    streamed: int

    def step(self, board: int, kind: RecordKind, number: int) -> RecordedStep:
        """Return a step of a board."""
        return next(step for step in self.steps[board] if (step.kind, step.number) == (kind, number))


@dataclass(frozen=True)
class _Stamps:
    """What a board has noted: records, ends and ticks of links in the order of its steps, and its sendings."""

    records: Sequence[TimeRecord]
    ends: Sequence[int]
    link_ticks: Sequence[int]
    sendings: Sequence[Sending]


def record_inferences(
    project: Project, rig: Rig, inputs: IntArray, *, is_pipelined: bool = False
) -> tuple[Recording, ...]:
    """Run the first inputs (N x H x W x C, integers) on the slowest copy, and record what its boards do.

    Each inference runs alone, or as the last one of a stream that keeps all boards busy. The boards poll where they
    would sleep, as in sleep the clocks of most cores stop. Raises ToolError when a board fails or runs firmware of
    before.
    """
    boards = Boards(project, rig)
    boards.check()
    streamed = len(project.slowest.boards) + OUTPUTS_OF_A_PERIOD
    alone = [sample[np.newaxis] for sample in inputs[:MOST_RECORDINGS]]
    parts = [inputs[:streamed]] * MOST_RECORDINGS if is_pipelined else alone
    return tuple(_record(boards, part) for part in parts)


def _record(boards: Boards, inputs: IntArray) -> Recording:
    boards.start_run()
    try:
        first = read_clocks(boards)
        stream_through(boards, boards.project.slowest, inputs)
        read_times(boards, boards.project.slowest)  # once these are complete
        last = read_clocks(boards)
        stamps = {number: _read_stamps(boards, number) for number in boards.project.slowest.boards}
    except ToolError as error:
        raise boards.explain(error) from None
    for number in stamps:
        if not first[number].board_s < last[number].board_s:
            raise ToolError(f"the clock of {boards.clients[number].name} stands still: flash it again")
    clocks = {number: AlignedClock(first[number], last[number]) for number in stamps}
    return _Aligned(boards, clocks, stamps, len(inputs)).recording()


def _read_stamps(boards: Boards, number: int) -> _Stamps:
    client, read_stamps = boards.clients[number], []

    def read() -> Task[None]:
        records = yield from client.read_times()
        sendings = yield from client.read_sendings()
        now, _, _ = yield from client.read_clock(keep=False)
        ends = yield from client.read_ends(now)
        link_ticks = yield from client.read_link_ticks()
        read_stamps.append(_Stamps(records, ends, link_ticks, sendings))

    boards.run([read()])
    stamps = read_stamps[0]
    wanted = set(expected_records(boards.project, number))
    received = {(RecordKind.COPY, cut.number - 1) for cut in boards.project.cuts if cut.to_board == number}
    measured = {(each.kind, each.index) for each in stamps.records if each.kind in MEASURED}
    counts = (len(stamps.ends), len(stamps.link_ticks), len(stamps.sendings))
    steps = len(stamps.records)
    if not wanted <= measured <= wanted | received or counts != (steps, steps, len(_tensors(stamps.records))):
        raise ToolError(
            f"{client.name} sent {counts[0]} ends, {counts[1]} ticks of links and {counts[2]} sendings of {steps} "
            "steps: flash it again"
        )
    return stamps


def _tensors(records: Sequence[TimeRecord]) -> Sequence[TimeRecord]:
    """Return the steps that have a sending."""
    return [record for record in records if record.kind in (RecordKind.TRANSFER, RecordKind.COPY)]


class _Aligned:
    """The stamps of all boards in the time of the host, from the begin of the inference."""

    def __init__(
        self, boards: Boards, clocks: Mapping[int, AlignedClock], stamps: Mapping[int, _Stamps], streamed: int
    ) -> None:
        self._boards = boards
        self._streamed = streamed
        self._clocks = clocks
        self._stamps = stamps
        inputs = boards.project.slowest.input_boards
        begins = (self._host_s(n, stamps[n].ends[0] - stamps[n].records[0].ticks) for n in inputs)
        self._begin_s = 0.0
        self._begin_s = min(begins)

    def recording(self) -> Recording:
        steps = {number: tuple(self._steps(number)) for number in self._stamps}
        sent = {cut: tensor for number in self._stamps for cut, tensor in self._sent(number).items()}
        return Recording(
            steps, sent, {number: clock.uncertainty_s for number, clock in self._clocks.items()}, self._streamed
        )

    def _seconds(self, number: int, ticks: int) -> float:
        return ticks / self._boards.identities[number].timer_hz

    def _host_s(self, number: int, ticks: int) -> float:
        return self._clocks[number].host_s(self._seconds(number, ticks)) - self._begin_s

    def _steps(self, number: int) -> list[RecordedStep]:
        stamps, steps = self._stamps[number], list[RecordedStep]()
        for index, (record, end) in enumerate(zip(stamps.records, stamps.ends, strict=True)):
            own_s = self._seconds(number, record.ticks)
            end_s = self._host_s(number, end)
            begin_s = steps[-1].end_s if steps else self._first_begin_s(record, end_s - own_s)
            if end > min(stamps.ends[index:]):  # a step that waits for nothing has begun the next inference
                end_s = begin_s
            links_s = min(self._seconds(number, stamps.link_ticks[index]), end_s - begin_s)
            steps.append(
                RecordedStep(record.kind, record.index + (record.kind in CUTS), begin_s, end_s, own_s, links_s)
            )
        return steps

    def _first_begin_s(self, record: TimeRecord, own_begin_s: float) -> float:
        """Return when a board's first step begins; before it, the board may be busy with the inference before."""
        is_known = record.kind is RecordKind.INPUT or self._streamed > 1
        return max(0.0, own_begin_s) if is_known else 0.0

    def _sent(self, number: int) -> dict[int, SentTensor]:
        """Return the tensors that a board sent; its sendings are those of all its transfers, in their order."""
        stamps = self._stamps[number]
        tensors = {}
        for record, sending in zip(_tensors(stamps.records), stamps.sendings, strict=True):
            if record.kind is RecordKind.TRANSFER:
                acknowledged_s = self._host_s(number, sending.started + record.ticks - sending.copied)
                copied_s = self._seconds(number, sending.copied)
                started_s = self._host_s(number, sending.started)
                tensors[record.index + 1] = SentTensor(started_s, acknowledged_s, copied_s)
        return tensors
