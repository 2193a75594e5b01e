"""Pipelined inference: streams inputs into the boards, several in flight, and collects the outputs in order.

Where inputs come from the board, the host loads one sample, and each copy computes all its inferences of it.

The period is the time between two outputs once the boards are busy, by the clock of the host's ports: from the first
DONE after the start to the last one, divided by the outputs between them. On virtual boards that is exact; on real
boards the delays of the host's ports are divided by the number of outputs, too.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from math import ceil

from tinysplit.common.choices import InputSource
from tinysplit.common.errors import ToolError, UsageError
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.project.activity import BoardActivity
from tinysplit.project.manifest import Pipeline, Project
from tinysplit.settings.costs import INPUT_SOURCE
from tinysplit.settings.measurement import PIPELINED, SAMPLE_COUNT
from tinysplit_hil.measure.boards import Boards, NoRunError
from tinysplit_hil.measure.measure import FAILURES_IN_A_ROW, Failure, check_inputs, outputs_of
from tinysplit_hil.measure.statistics import TimeStatistics
from tinysplit_hil.rig.account import Accounts, activities_between, mean_activities
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.request_port import ClientError
from tinysplit_hil.wire.tasks import Task

ROUNDING = 1e-9  # relative error of sums
OUTPUTS_OF_A_PERIOD = 3  # beyond one for each board: the first of them is still the start
LARGEST_DRIFT = 0.01  # of the rate of inputs from that of outputs, in a steady state


@dataclass(frozen=True, eq=False)
class Stream:
    """Outputs of a stream of inputs and their period.

    `samples`: indices from 0 of those that succeeded, all 0 with inputs from the board; `outputs`: samples x elements,
    integers in HWC order. `period_s` is None where failures have left too few outputs in a row. `intervals`: seconds
    between two outputs, None for several copies of the network, which take turns. `host_port_share`: part of the period
    in which the host sends an input, None where that is unknown; near 1 the host's port limits the boards.
    """

    samples: tuple[int, ...]
    outputs: IntArray
    period_s: float | None
    intervals: TimeStatistics | None
    host_port_share: float | None
    failures: tuple[Failure, ...]
    not_run: int  # number of samples after the boards were taken for broken
    activities: tuple[BoardActivity, ...] = ()  # of an inference among many, of all copies; none of real boards
    is_too_short: bool = False  # for activities: virtual boards were never in a steady state


def check_length(n_samples: int, n_boards: int) -> None:
    """Raise UsageError when there are too few samples for a period of any split over so many boards."""
    needed = n_boards + OUTPUTS_OF_A_PERIOD
    if n_samples < needed:
        raise UsageError(f"{n_samples} samples are too few for a period of these boards: at least {needed} are needed")


def check_stream(project: Project, n_samples: int) -> None:
    """Raise UsageError when there are too few samples for a period: each copy gets them in proportion to its speed.

    Also for a board that cannot keep an input that comes from the board.
    """
    if project.input_source is InputSource.BOARD:
        _check_kept_inputs(project)
    latencies_s = [pipeline.estimated_l_s + pipeline.estimated_t_s for pipeline in project.pipelines]
    rate_hz = sum(1 / seconds for seconds in latencies_s)
    needed = max(
        ceil((len(boards) + OUTPUTS_OF_A_PERIOD) * seconds * rate_hz * (1 - ROUNDING))
        for boards, seconds in zip(project.copies, latencies_s, strict=True)
    )
    if n_samples < needed:
        raise UsageError(f"{n_samples} samples are too few for a period of these boards: at least {needed} are needed")


def _check_kept_inputs(project: Project) -> None:
    """Raise UsageError for a board whose input lies in its arena, so that an inference overwrites it.

    Also for a network that keeps its state, whose outputs for one input differ.
    """
    remedy = f"leave {PIPELINED} out"
    if not project.standalone:
        remedy += f", or split with {INPUT_SOURCE('host')}"
    if project.keeps_state:
        raise UsageError(f"the network keeps its state, so that its outputs for one input differ: {remedy}")
    for board in project.boards:
        if board.takes_input and not board.staged_input:
            raise UsageError(
                f"{board.title} has no room to keep an input beside its arena: its period with {INPUT_SOURCE('board')} "
                f"cannot be measured; {remedy}"
            )


def stream(
    project: Project,
    rig: Rig,
    inputs: IntArray,
    on_sample: Callable[[int], None] = lambda _: None,
    *,
    fail_fast: bool = False,
) -> Stream:
    """Stream `inputs` (N x H x W x C, integers in the network's input format) through all copies of the network.

    Inputs from the board are as many times the first one, which the boards keep.
    Each input goes to the copy that has room for it first. `on_sample` is called with the number of outputs. After a
    failure the samples that have no output yet are streamed again without the oldest one, until FAILURES_IN_A_ROW have
    failed in a row or a board joins no run any more. Raises ToolError when a board runs other firmware and when no
    sample succeeds, and when code or weights of a board have changed, with `fail_fast` or a network that keeps its
    state for the first failure;
    UsageError when there are too few samples for a period.
    """
    check_stream(project, len(inputs))
    boards = Boards(project, rig)
    boards.check()
    check_inputs(boards, inputs)
    if project.input_source is InputSource.BOARD:
        inputs = inputs[:1].repeat(len(inputs), axis=0)
    results = _Results(len(inputs), on_sample)
    barren = 0
    while results.missing and barren < FAILURES_IN_A_ROW:
        n_before = len(results.outputs)
        try:
            _stream_once(boards, inputs, results)
        except ToolError as error:
            if fail_fast or project.keeps_state:
                raise
            if results.missing:  # else the error came behind the last output
                results.failures.append(Failure(results.suspect(error), str(error)))
            if isinstance(error, NoRunError):
                break
            barren = barren + 1 if len(results.outputs) == n_before else 1
    boards.check_flash()
    return results.stream(project)


def stream_through(boards: Boards, pipeline: Pipeline, inputs: IntArray) -> None:
    """Stream `inputs` through one copy of the network, in a run that has begun, until all outputs are there."""
    copy = _Copy(boards, pipeline, inputs, deque(range(len(inputs))))
    boards.run([*copy.tasks(_Results(len(inputs), lambda _: None))])


class _Results:
    """Outputs by sample, and the times of all runs."""

    def __init__(self, n_samples: int, on_sample: Callable[[int], None]) -> None:
        self.outputs: dict[int, bytes] = {}
        self.failures: list[Failure] = []
        self.runs: list[_Copy] = []
        self._n_samples = n_samples
        self._on_sample = on_sample

    @property
    def missing(self) -> list[int]:
        """Samples that have neither an output nor failed."""
        failed = {failure.sample for failure in self.failures}
        return [index for index in range(self._n_samples) if index not in self.outputs and index not in failed]

    def add(self, sample: int, output: bytes) -> None:
        """Note an output."""
        self.outputs[sample] = output
        self._on_sample(len(self.outputs))

    def suspect(self, error: ToolError) -> int:
        """Return the oldest sample without output on the boards that failed."""
        copies = [run for run in self.runs if isinstance(error, ClientError) and error.board in run.pipeline.boards]
        missing = self.missing
        in_flight = [sample for sample in copies[-1].samples if sample in missing] if copies else []
        return (in_flight or missing)[0]

    def stream(self, project: Project) -> Stream:
        """Return all results."""
        if not self.outputs:
            raise ToolError(f"no sample succeeded: {self.failures[0].reason}")
        samples = sorted(self.outputs)
        copies = project.pipelines
        periods = [period for pipeline in copies if (period := self._period_s(pipeline))]
        intervals_s = [seconds for run in self.runs for seconds in run.intervals_s()]
        shares = [share for run in self.runs for share in run.host_port_shares()]
        period_s = 1 / sum(1 / period for period in periods) if len(periods) == len(copies) else None
        activities = self._activities(copies, period_s) if period_s else ()
        return Stream(
            samples=tuple(0 if project.input_source is InputSource.BOARD else sample for sample in samples),
            outputs=outputs_of(project, [self.outputs[sample] for sample in samples]),
            period_s=period_s,
            intervals=TimeStatistics.of(intervals_s) if intervals_s and len(copies) == 1 else None,
            host_port_share=sum(shares) / len(shares) if shares else None,
            failures=tuple(self.failures),
            not_run=len(self.missing),
            activities=activities,
            is_too_short=bool(period_s) and not activities and any(run.has_accounts for run in self.runs),
        )

    def _activities(self, copies: Sequence[Pipeline], period_s: float) -> tuple[BoardActivity, ...]:
        """Return what each board does in a period: its shares of the newest run of its copy that has some.

        None unless all copies have such a run.
        """
        by_board = {each.board: each for run in self.runs for each in run.activities()}
        if any(number not in by_board for pipeline in copies for number in pipeline.boards):
            return ()
        return tuple(each.during(period_s) for _, each in sorted(by_board.items()))

    def _period_s(self, pipeline: Pipeline) -> float | None:
        """Return the period of one copy: rates of several copies add up."""
        spans = [span for run in self.runs if run.pipeline == pipeline and (span := run.span())]
        if spans:
            return sum(seconds for seconds, _ in spans) / sum(count for _, count in spans)
        if self.failures:
            return None
        numbers = ", ".join(map(str, pipeline.boards))
        raise UsageError(f"too few outputs of boards {numbers} for a period: increase {SAMPLE_COUNT}")


class _Copy:
    """One run of one copy of the network.

    It takes inputs one by one from `waiting`, which all copies may share: the samples that none has taken yet. An input
    from the board is that of all of them at once.
    """

    def __init__(self, boards: Boards, pipeline: Pipeline, inputs: IntArray, waiting: deque[int]) -> None:
        self._keeps_input = boards.project.input_source is InputSource.BOARD
        self.pipeline = pipeline
        self.samples: list[int] = []  # by inference number
        self._boards = boards
        self._inputs = inputs
        self._waiting = waiting
        self._last = boards.clients[pipeline.output_board]
        self._first = [boards.clients[number] for number in pipeline.input_boards]
        self._taken_s = [client.taken_s for client in self._first]  # of this run
        self._done_s: dict[int, float] = {}
        self._accounts: dict[int, Accounts] = {}  # when outputs were complete
        self._waits_s: list[float] = []

    def tasks(self, results: _Results) -> Iterator[Task[None]]:
        """Yield the tasks that feed the copy and collect its outputs."""
        yield from (self._feed(index) for index in range(len(self._first)))
        yield self._collect(results)

    def _sample(self, number: int) -> int | None:
        """Return the sample of an inference, None when there are no more."""
        if number == len(self.samples) and self._waiting:
            self.samples.append(self._waiting.popleft())
        return self.samples[number] if number < len(self.samples) else None

    def _feed(self, index: int) -> Task[None]:
        client, number = self._first[index], 0
        if self._keeps_input:
            while self._sample(len(self.samples)) is not None:
                pass
            data, count = self._inputs[self.samples[0]].tobytes(), len(self.samples)
            yield from client.send_input(0, data, self._boards.timeout_s, count)
            return
        while (sample := self._sample(number)) is not None:
            yield from client.send_input(number, self._inputs[sample].tobytes(), self._boards.timeout_s)
            number += 1

    def _collect(self, results: _Results) -> Task[None]:
        size_bytes = self._boards.identities[self.pipeline.output_board].output_bytes
        number = 0
        while number < len(self.samples) or self._waiting:
            if number == len(self.samples):
                yield
                continue
            crc = yield from self._last.wait_done(number, self._boards.timeout_s)
            self._accounts[number] = self._boards.accounts()
            output = yield from self._last.read_output(number, size_bytes, crc)
            self._note_times(number)
            results.add(self.samples[number], output)
            number += 1

    def _note_times(self, number: int) -> None:
        """Note when an output was complete and how long its input waited; both events may be lost."""
        if number <= len(self.pipeline.boards):  # the boards fill
            return
        if number in self._last.done_s:
            self._done_s[number] = self._last.done_s[number]
        known = (client for client in self._first if number in client.taken_s and number in client.started_s)
        waits = [client.taken_s[number] - client.started_s[number] for client in known]
        self._waits_s += [min(waits)] if waits else []

    def span(self) -> tuple[float, int] | None:
        """Return seconds and number of periods between the first and the last output after the start."""
        numbers = self._steady()
        return (self._done_s[numbers[-1]] - self._done_s[numbers[0]], numbers[-1] - numbers[0]) if numbers else None

    @property
    def has_accounts(self) -> bool:
        """Whether the boards kept an account: virtual ones of this process do."""
        return any(self._accounts.values())

    def activities(self) -> tuple[BoardActivity, ...]:
        """Return what the copy's boards do between two outputs of a steady state, none without such outputs."""
        ends = self._steady_ends()
        if ends is None:
            return ()
        first, last = (self._accounts[number] for number in ends)
        return mean_activities([activities_between(first, last, self._boards.core_hz)], self.pipeline.boards)

    def _steady_ends(self) -> tuple[int, int] | None:
        """Return two outputs between which every board computes as many inferences as outputs come.

        The last one came before the last input was taken, as boards have nothing to do after that, one after the other.
        The first one is the earliest since which inputs were taken as fast as outputs came: faster, the boards in front
        still fill the buffers of those behind them.
        """
        fed_s = min(max(taken_s.values(), default=0.0) for taken_s in self._taken_s)
        fed = [
            number
            for number in sorted(self._done_s)
            if self._done_s[number] < fed_s and all(number in taken_s for taken_s in self._taken_s)
        ]
        return next(((number, fed[-1]) for number in fed[:-1] if self._is_steady(number, fed[-1])), None)

    def _is_steady(self, first: int, last: int) -> bool:
        outputs_s = self._done_s[last] - self._done_s[first]
        inputs_s = (taken_s[last] - taken_s[first] for taken_s in self._taken_s)
        return all(abs(seconds - outputs_s) <= LARGEST_DRIFT * outputs_s for seconds in inputs_s)

    def intervals_s(self) -> Sequence[float]:
        """Return the seconds between each two outputs of `span`; those with a lost event between them are missing."""
        pairs = pairwise(self._steady())
        return [self._done_s[later] - self._done_s[number] for number, later in pairs if later == number + 1]

    def _steady(self) -> Sequence[int]:
        """Return the numbers of the outputs after the start, at least two, or none.

        The last ones are left out if there are enough: no inputs follow that the boards would receive meanwhile.
        """
        numbers = sorted(self._done_s)
        steady = numbers[: -len(self.pipeline.boards)]
        numbers = steady if len(steady) > 1 else numbers
        return numbers if len(numbers) > 1 else []

    def host_port_shares(self) -> Sequence[float]:
        """Return for each input the part of the period in which it was not waiting on the boards."""
        span = self.span()
        return [1 - wait_s * span[1] / span[0] for wait_s in self._waits_s] if span else []


def _stream_once(boards: Boards, inputs: IntArray, results: _Results) -> None:
    """Stream the missing samples until all have an output or a board fails."""
    boards.start_run()
    pipelines = boards.project.pipelines
    dealt = _dealt(boards.project, results.missing)
    copies = [_Copy(boards, *each) for each in zip(pipelines, repeat(inputs), dealt, strict=False)]
    results.runs += copies
    try:
        boards.run([task for copy in copies for task in copy.tasks(results)])
    except ToolError as error:
        raise boards.explain(error) from None


def _dealt(project: Project, samples: Sequence[int]) -> Sequence[deque[int]]:
    """Return the samples for each copy: one queue for all, or its share by its speed where it has its own inputs."""
    copies = project.pipelines
    if project.input_source is InputSource.HOST:
        return [deque(samples)] * len(copies)
    rates = [1 / (each.estimated_l_s + each.estimated_t_s) for each in copies]
    ends = [round(len(samples) * sum(rates[:number]) / sum(rates)) for number in range(len(copies) + 1)]
    return [deque(samples[begin:end]) for begin, end in pairwise(ends)]
