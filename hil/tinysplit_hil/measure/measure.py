"""Runs samples on the boards of a rig and reads the times of all layers and cuts, on the boards' own clocks."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tinysplit.common.choices import InputSource
from tinysplit.common.errors import ToolError, UsageError
from tinysplit.common.tables import counted
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.project.activity import BoardActivity
from tinysplit.project.manifest import Pipeline, Project, ProjectCut, ProjectLayer
from tinysplit_hil.measure.boards import Boards, NoRunError
from tinysplit_hil.measure.statistics import TimeStatistics
from tinysplit_hil.rig.account import activities_between, mean_activities
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.protocol import Identity, RecordKind, TimeRecord
from tinysplit_hil.wire.request_port import ClientError
from tinysplit_hil.wire.tasks import Task, pause

FAILURES_IN_A_ROW = 5  # after which the boards are taken for broken
MEASURED = (RecordKind.LAYER, RecordKind.TRANSFER, RecordKind.COPY)
SETTLE_S = (0.1, 0.4, 1.0)  # between two reads of incomplete time records

Records = dict[tuple[int, RecordKind, int], list[TimeRecord]]  # by board, kind and index


@dataclass(frozen=True)
class LayerTime:
    """Cycles and seconds of a layer, by the clock of its board."""

    layer: ProjectLayer
    cycles: TimeStatistics
    seconds: TimeStatistics


@dataclass(frozen=True)
class CutTime:
    """The time of a cut: from the start of sending until the receiver has the tensor.

    Its sender's clock runs to the end of the acknowledgement. The time of that on the wire is subtracted here, and by
    the board that of what left the receiver before it. The copy from the receiver's buffer into its arena, by the
    receiver's clock, is added, where there is one.
    """

    cut: ProjectCut
    seconds: TimeStatistics
    repeats: int  # retransmissions over all samples


@dataclass(frozen=True)
class Failure:
    """A sample (index from 0) without an output, and the reason in one line."""

    sample: int
    reason: str


@dataclass(frozen=True, eq=False)
class Measurement:
    """Times and outputs of the samples that succeeded.

    `samples`: their indices from 0; `outputs`: their outputs, samples x elements, integers in HWC order. L, T and I
    are those of the slowest copy of the network, in seconds (Santamaria 2021, formulas 2 and 4); `i_s`: from the end of
    START to DONE by the clock of the host's ports.
    """

    rig: Rig
    identities: Mapping[int, Identity]
    layers: tuple[LayerTime, ...]
    cuts: tuple[CutTime, ...]
    samples: tuple[int, ...]
    outputs: IntArray
    l_s: TimeStatistics
    t_s: TimeStatistics
    i_s: TimeStatistics
    failures: tuple[Failure, ...]
    not_run: int  # number of samples after the boards were taken for broken
    activities: tuple[BoardActivity, ...] = ()  # of an inference of the slowest copy; none of real boards


@dataclass(frozen=True)
class _Inference:
    """One inference: its output, I in seconds, and the time records and the activity of its boards, by number.

    The activity is that from the first byte of the input until the output was read; from START with an input from the
    board.
    """

    output: bytes
    i_s: float
    records: Mapping[int, Sequence[TimeRecord]]
    activities: tuple[BoardActivity, ...]


def measure(
    project: Project,
    rig: Rig,
    inputs: IntArray,
    on_sample: Callable[[int], None] = lambda _: None,
    *,
    fail_fast: bool = False,
) -> Measurement:
    """Run `inputs` (N x H x W x C, integers in the network's input format) one after the other, each in its own run.

    Inferences of a network that keeps its state are one run, which ends with the first failure. Several copies of the
    network take turns. `on_sample` is called with the number of samples that have ended. A sample that fails is noted
    and the next one follows, until FAILURES_IN_A_ROW have failed in a row or a board joins no run any more. Raises
    ToolError when a board runs other firmware and when no sample succeeds on a copy, with `fail_fast` for the first
    sample that fails; UsageError when there are fewer samples than copies.
    """
    check_sample_count(project, len(inputs))
    boards, pipelines = Boards(project, rig), project.pipelines
    boards.check()
    check_inputs(boards, inputs)
    done: dict[int, _Inference] = {}
    failures: list[Failure] = []
    for index, sample in enumerate(inputs):
        try:
            number = index if project.keeps_state else 0
            done[index] = _infer_alone(boards, pipelines[index % len(pipelines)], sample.tobytes(), number)
        except ToolError as error:
            if fail_fast:
                raise
            failures.append(Failure(index, str(error)))
            if isinstance(error, NoRunError) or _are_in_a_row(failures) or project.keeps_state:
                break
        on_sample(index + 1)
    return _measurement(boards, rig, done, failures, len(inputs))


def check_sample_count(project: Project, n_samples: int) -> None:
    """Raise UsageError unless there is a sample for each copy of the network."""
    needed = len(project.copies)
    if n_samples < needed:
        what = counted(n_samples, "sample")
        raise UsageError(f"{what} for {needed} copies of the network: at least {needed} are needed")


def check_inputs(boards: Boards, inputs: IntArray) -> None:
    """Raise ToolError unless all boards that read the network's input take inputs of this size."""
    sample_bytes = inputs.nbytes // len(inputs)
    for number in chain.from_iterable(pipeline.input_boards for pipeline in boards.project.pipelines):
        expected_bytes = boards.identities[number].input_bytes
        if expected_bytes != sample_bytes:
            raise ToolError(
                f"board {number} expects inputs of {expected_bytes} bytes, the samples have {sample_bytes}: "
                "generate, build and flash the project again"
            )


def _are_in_a_row(failures: Sequence[Failure]) -> bool:
    """Return whether the newest FAILURES_IN_A_ROW samples have failed."""
    newest = failures[-FAILURES_IN_A_ROW:]
    return len(newest) == FAILURES_IN_A_ROW == newest[-1].sample - newest[0].sample + 1


def outputs_of(project: Project, outputs: Sequence[bytes]) -> IntArray:
    """Return outputs as integers, samples x elements. Raises ToolError for outputs of different sizes."""
    output_type = np.dtype(f"<i{project.layers[-1].formats.output.bits // 8}")
    sizes = {len(output) for output in outputs}
    if len(sizes) > 1 or any(size % output_type.itemsize or not size for size in sizes):
        lengths = ", ".join(map(str, sorted(sizes)))
        raise ToolError(f"the outputs have {lengths} bytes: generate, build and flash the project again")
    return np.frombuffer(b"".join(outputs), output_type).reshape(len(outputs), -1)


def _measurement(
    boards: Boards, rig: Rig, done: Mapping[int, _Inference], failures: Sequence[Failure], n_samples: int
) -> Measurement:
    project, identities = boards.project, boards.identities
    of_copies = _by_copy(project, done, failures)
    records: Records = defaultdict(list)
    for inference in done.values():
        for number, of_board in inference.records.items():
            for record in of_board:
                records[number, record.kind, record.index].append(record)
    layers = tuple(_layer_times(project, identities, records))
    cuts = tuple(_cut_times(project, identities, records))
    slowest = project.slowest.boards
    return Measurement(
        rig=rig,
        identities=identities,
        layers=layers,
        cuts=cuts,
        samples=tuple(done),
        outputs=outputs_of(project, [inference.output for inference in done.values()]),
        l_s=_sums(len(of_copies[slowest]), (time.seconds for time in layers if time.layer.board in slowest)),
        t_s=_sums(len(of_copies[slowest]), (time.seconds for time in cuts if time.cut.from_board in slowest)),
        i_s=TimeStatistics.of([inference.i_s for inference in of_copies[slowest]]),
        failures=tuple(failures),
        not_run=n_samples - len(done) - len(failures),
        activities=mean_activities([inference.activities for inference in of_copies[slowest]], slowest),
    )


def _sums(n_samples: int, parts: Iterable[TimeStatistics]) -> TimeStatistics:
    """Return the sum of the parts sample by sample; 0 where there are none."""
    return TimeStatistics.of(
        [sum(values) for values in zip([0.0] * n_samples, *(part.values for part in parts), strict=True)]
    )


def _by_copy(
    project: Project, done: Mapping[int, _Inference], failures: Sequence[Failure]
) -> Mapping[tuple[int, ...], Sequence[_Inference]]:
    """Return the inferences of each copy of the network, by its boards. Raises ToolError when one has none."""
    of_copies = {}
    for index, copy in enumerate(project.copies):
        inferences = [inference for sample, inference in done.items() if sample % len(project.copies) == index]
        if not inferences:
            on = f" on board{'s' * (len(copy) > 1)} {', '.join(map(str, copy))}" if len(project.copies) > 1 else ""
            raise ToolError(f"no sample succeeded{on}: {failures[0].reason}")
        of_copies[copy] = inferences
    return of_copies


def _infer_alone(boards: Boards, pipeline: Pipeline, data: bytes, number: int) -> _Inference:
    """Run an inference of a copy of the network, alone: that with this number of its run, which begins with 0."""
    if number == 0:
        boards.start_run()
    try:
        keeps_input = boards.project.input_source is InputSource.BOARD
        if keeps_input:  # which is there when the inference begins
            boards.run([boards.clients[board].load_input(number, data) for board in pipeline.input_boards])
        before = boards.accounts()
        output, i_s = _infer(boards, pipeline, data, number, is_loaded=keeps_input)
        activities = activities_between(before, boards.accounts(), boards.core_hz)
        records = read_times(boards, pipeline)
        boards.check_flash()
        return _Inference(output, i_s, records, activities)
    except ToolError as error:
        raise boards.explain(error) from None


def _infer(boards: Boards, pipeline: Pipeline, data: bytes, number: int, *, is_loaded: bool) -> tuple[bytes, float]:
    """Run inference `number` of a run that has begun; return its output, and I in seconds.

    Raises ClientError where the event that ends I was lost.
    """
    timeout_s = boards.timeout_s
    last = boards.clients[pipeline.output_board]
    first = [boards.clients[number] for number in pipeline.input_boards]
    outputs: list[bytes] = []

    def collect() -> Task[None]:
        crc = yield from last.wait_done(number, timeout_s)
        size_bytes = boards.identities[pipeline.output_board].output_bytes
        outputs.append((yield from last.read_output(number, size_bytes, crc)))

    boards.run([*(client.send_input(number, data, timeout_s, is_loaded=is_loaded) for client in first), collect()])
    if number not in last.done_s:
        raise ClientError(pipeline.output_board, f"{last.name}: its DONE was lost, so I is not known: check its wiring")
    return outputs[0], last.done_s[number] - max(client.started_s[number] for client in first)


def read_times(boards: Boards, pipeline: Pipeline) -> Mapping[int, Sequence[TimeRecord]]:
    """Return the time records of each board, which must be exactly those of its layers and cuts.

    Waits for a sender whose last acknowledgement was lost: it still sends when the output is complete.
    """
    return {number: _times_of_board(boards, number) for number in pipeline.boards}


def _times_of_board(boards: Boards, number: int) -> Sequence[TimeRecord]:
    client = boards.clients[number]
    expected = sorted(expected_records(boards.project, number))
    times: list[Sequence[TimeRecord]] = []

    def read() -> Task[None]:
        for pause_s in (*SETTLE_S, 0.0):
            records = yield from client.read_times()
            measured = [r for r in records if r.kind in MEASURED]
            if sorted((r.kind, r.index) for r in measured if r.ticks) == expected:
                times.append([record for record in measured if record.ticks])
                return
            yield from pause(boards.clock, pause_s)
        if sorted((r.kind, r.index) for r in measured) == expected:
            raise ToolError(f"{client.name} sent {_zero_times(measured)}: they did not run, or its timer stands still")
        raise ToolError(
            f"{client.name} sent {len(records)} time records that do not match its layers and cuts: "
            "build and flash it again"
        )

    boards.run([read()])
    return times[0]


def _zero_times(records: Iterable[TimeRecord]) -> str:
    """Return the times of 0 as text; layers count from 1 on the wire, cuts from 0."""
    zero = [record for record in records if not record.ticks]
    names = (f"{r.kind.name.lower()} {r.index + (r.kind is not RecordKind.LAYER)}" for r in zero)
    return f"times of 0 for {', '.join(names)}"


def expected_records(project: Project, number: int) -> Iterator[tuple[RecordKind, int]]:
    """Yield kind and index of the time records of a board that are measured."""
    yield from ((RecordKind.LAYER, layer.number) for layer in project.layers if layer.board == number)
    yield from ((RecordKind.TRANSFER, cut.number - 1) for cut in project.cuts if cut.from_board == number)
    staged = project.board(number).staged_cuts
    received = (cut.number for cut in project.cuts if cut.to_board == number)
    yield from ((RecordKind.COPY, cut - 1) for cut in received if cut in staged)


def _layer_times(project: Project, identities: Mapping[int, Identity], records: Records) -> Iterator[LayerTime]:
    for layer in project.layers:
        identity = identities[layer.board]
        ticks = [record.ticks for record in records[layer.board, RecordKind.LAYER, layer.number]]
        cycles = TimeStatistics.of([each * identity.core_hz / identity.timer_hz for each in ticks])
        yield LayerTime(layer, cycles, TimeStatistics.of([each / identity.timer_hz for each in ticks]))


def _cut_times(project: Project, identities: Mapping[int, Identity], records: Records) -> Iterator[CutTime]:
    for cut in project.cuts:
        sent = records[cut.from_board, RecordKind.TRANSFER, cut.number - 1]
        copied = records[cut.to_board, RecordKind.COPY, cut.number - 1]
        seconds = [record.ticks / identities[cut.from_board].timer_hz - cut.acknowledgement_s for record in sent]
        if copied:
            copies_s = [record.ticks / identities[cut.to_board].timer_hz for record in copied]
            seconds = [transfer_s + copy_s for transfer_s, copy_s in zip(seconds, copies_s, strict=True)]
        yield CutTime(cut, TimeStatistics.of(seconds), sum(record.repeats for record in sent))
