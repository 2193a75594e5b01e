"""The latency of one inference whose tensors may be streamed: sent as rows are finished, taken as they arrive.

A recursion over the events of one inference: when rows are finished, when frames arrive, when rows can be computed.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinysplit.common.protocol_limits import LINK_BLOCK_BYTES, LINK_OVERHEAD_BYTES, LINK_PAYLOAD_BYTES, TENSOR_CRC_BYTES

SHORTEST_LIMIT = 4 * LINK_BLOCK_BYTES  # of the frames of a streamed tensor
SHARES = 256  # parts in which the share of a frame is counted


@dataclass(frozen=True)
class Parts:
    """The parts of a RUN step, all computed `passes` times, each pass and part for the same time.

    Before a part the first `needed_bytes` of the streamed input must have arrived; after it, in the last pass, the
    first `done_bytes` of the output are complete.
    """

    needed_bytes: tuple[int, ...]
    done_bytes: tuple[int, ...]
    passes: int = 1


@dataclass(frozen=True)
class RunCosts:
    """A layer, or several that run in one step, on a device."""

    device: int
    seconds: float
    parts: Parts | None = None


@dataclass(frozen=True)
class TransferCosts:
    """A tensor on a link, after the layers before it in the list; `byte_s` is the time of a byte on the wire.

    CPUs take `copy_out_s` and `copy_in_s` for copies of the whole tensor to and from buffers, `send_s` and `receive_s`
    for its bytes on the line, and `frame_s` at each end for a frame. `latency_s` passes before the first bit of a frame
    and after its last one until it is used. The sender's driver sends `chunk_bytes` at a time. `gives_rows`,
    `takes_rows`: the ends at which it is streamed; `frame_share`: see `frame_limit`.
    """

    sender: int
    receiver: int
    payload_bytes: int
    byte_s: float
    reply_s: float = 0.0
    copy_out_s: float = 0.0
    copy_in_s: float = 0.0
    send_s: float = 0.0
    receive_s: float = 0.0
    frame_s: float = 0.0
    latency_s: float = 0.0
    chunk_bytes: int = 1
    blocks_sender: bool = False  # until the acknowledgement
    gives_rows: bool = False
    takes_rows: bool = False
    frame_share: int = 0


@dataclass(frozen=True)
class Arrivals:
    """When a tensor arrives: the first `ends[i]` bytes are there at `times_s[i]`."""

    ends: tuple[int, ...]
    times_s: tuple[float, ...]

    def of(self, n_bytes: int) -> float:
        """Return when the first `n_bytes` bytes are there."""
        return self.times_s[bisect_left(self.ends, n_bytes)] if n_bytes > 0 else 0.0


Costs = RunCosts | TransferCosts


def inference_s(steps: Sequence[Costs]) -> float:
    """Return the seconds from the start of one inference to the end of its last step.

    `steps` are those of all devices in their order; a transfer that gives rows follows its layers, and one that takes
    rows is followed by the layers that read it.
    """
    simulation = _Simulation(steps)
    for index, step in enumerate(steps):
        if isinstance(step, RunCosts):
            simulation.run(index, step)
        else:
            simulation.transfer(step)
    return max(simulation.free_s.values(), default=0.0)


class _Simulation:
    """`free_s`: when each device is done with its steps so far."""

    def __init__(self, steps: Sequence[Costs]) -> None:
        self.steps = steps
        self.free_s: dict[int, float] = dict.fromkeys((_device(step) for step in steps), 0.0)
        self.line_s: dict[tuple[int, int], float] = {}  # when each direction of a link is free
        self.ready: dict[
            int, tuple[tuple[int, float], ...]
        ] = {}  # of each device: bytes done and when, of the last run
        self.taken: dict[int, tuple[TransferCosts, Arrivals]] = {}  # by each device's next run

    def run(self, index: int, run: RunCosts) -> None:
        """Compute layers: row by row where a transfer before or after them is streamed."""
        arriving = self.taken.pop(run.device, None)
        leaving = self._leaving(index, run.device)
        if run.parts is None or (arriving is None and leaving is None):
            self.free_s[run.device] += run.seconds
            self.ready[run.device] = ()
            return
        done = tuple(_part_ends(run, run.parts, self.free_s[run.device], arriving, leaving))
        self.ready[run.device] = tuple(zip(run.parts.done_bytes, done[-len(run.parts.done_bytes) :], strict=True))
        self.free_s[run.device] = done[-1]
        if arriving is not None:  # rows that no output row needs
            costs, arrivals = arriving
            self.free_s[run.device] = max(done[-1], arrivals.of(costs.payload_bytes))

    def _leaving(self, index: int, device: int) -> TransferCosts | None:
        """Return the transfer that gives the rows of a run away."""
        after = next((step for step in self.steps[index + 1 :] if device in _devices(step)), None)
        is_given = isinstance(after, TransferCosts) and after.sender == device and after.gives_rows
        return after if is_given and isinstance(after, TransferCosts) else None

    def transfer(self, costs: TransferCosts) -> None:
        """Send a tensor, and receive it or leave that to the next layers."""
        line = costs.sender, costs.receiver
        ready = self.ready.get(costs.sender, ()) if costs.gives_rows else ()
        if not ready:
            self.free_s[costs.sender] += costs.copy_out_s
            ready = ((costs.payload_bytes, self.free_s[costs.sender]),)
        arrivals = _arrivals(costs, ready, self.line_s.get(line, 0.0))
        end_s = arrivals.times_s[-1]
        self.line_s[line] = end_s - costs.latency_s
        if costs.blocks_sender:
            self.free_s[costs.sender] = end_s + costs.reply_s
        if costs.takes_rows:
            self.taken[costs.receiver] = costs, arrivals
        else:
            self.free_s[costs.receiver] = max(self.free_s[costs.receiver], end_s) + costs.copy_in_s


def _part_ends(
    run: RunCosts,
    parts: Parts,
    start_s: float,
    arriving: tuple[TransferCosts, Arrivals] | None,
    leaving: TransferCosts | None,
) -> Iterator[float]:
    """Yield when each part of each pass is done."""
    time_s, n_parts = start_s, len(parts.done_bytes)
    part_s = run.seconds / (parts.passes * n_parts)
    steps = tuple(b - a for a, b in zip((0, *parts.done_bytes), parts.done_bytes, strict=False))
    taken_bytes = 0
    for number in range(parts.passes):
        is_last = number == parts.passes - 1
        for part in range(n_parts):
            own_s = part_s
            if arriving is not None:
                costs, arrivals = arriving
                needed = parts.needed_bytes[part]
                time_s = max(time_s, arrivals.of(needed))
                if needed > taken_bytes:
                    time_s += costs.copy_in_s * (needed - taken_bytes) / costs.payload_bytes
                    taken_bytes = needed
                if time_s < arrivals.times_s[-1]:  # the CPU also receives
                    own_s /= 1 - _share(costs.receive_s + costs.frame_s * len(arrivals.ends), costs)
            if leaving is not None and is_last:
                own_s += leaving.copy_out_s * steps[part] / leaving.payload_bytes
                if part:  # and sends rows before
                    own_s += _sending_s(leaving, steps[part - 1], own_s)
            time_s += own_s
            yield time_s


def _share(cpu_s: float, costs: TransferCosts) -> float:
    """Return the share of the CPU that a line without pauses takes."""
    return min(cpu_s / (costs.payload_bytes * costs.byte_s), 0.9)


def _sending_s(costs: TransferCosts, n_bytes: int, span_s: float) -> float:
    """Return the CPU seconds of sending during `span_s`, a frame of `n_bytes` bytes at most."""
    frame_s = costs.send_s * n_bytes / costs.payload_bytes + costs.frame_s
    return frame_s * min(span_s / (n_bytes * costs.byte_s), 1)


def _arrivals(costs: TransferCosts, ready: Sequence[tuple[int, float]], line_s: float) -> Arrivals:
    """Return the ends of the frames in which a tensor crosses the link, from when its bytes are `ready`.

    The driver sends chunks: it fills one while the line sends the other, so that frames are chosen ahead of the line.
    """
    frames = _Frames(costs, ready)
    chunks_s = [line_s, line_s]  # when the last two chunks have left
    ends, times_s = [], []
    while not frames.are_over:
        filled_s = max(chunks_s[-2], frames.next_s)
        begin_s, length = max(filled_s, chunks_s[-1]), 0
        while length < costs.chunk_bytes and frames.begin(filled_s):
            taken = min(frames.left, costs.chunk_bytes - length)
            frames.left -= taken
            length += taken
            if frames.left == 0:
                ends.append(frames.sent)
                times_s.append(begin_s + length * costs.byte_s + costs.latency_s)
        chunks_s.append(begin_s + length * costs.byte_s)
    return Arrivals(tuple(ends), tuple(times_s))


@dataclass
class _Frames:
    """The frames of a tensor that becomes `ready`: bytes in frames so far, and bytes on the line left of the last."""

    costs: TransferCosts
    ready: Sequence[tuple[int, float]]
    sent: int = 0
    left: int = 0

    @property
    def are_over(self) -> bool:
        """Whether all frames have been filled into chunks."""
        return self.sent == self.costs.payload_bytes and self.left == 0

    @property
    def next_s(self) -> float:
        """When there is something to fill into a chunk."""
        wanted = min(self.sent + LINK_BLOCK_BYTES, self.costs.payload_bytes)
        return 0.0 if self.left else next(at for there, at in self.ready if there >= wanted)

    def begin(self, now_s: float) -> bool:
        """Begin the next frame if the last one is over; return whether there is one now."""
        if self.left:
            return True
        total = self.costs.payload_bytes
        there = max((there for there, at in self.ready if at <= now_s), default=0)
        may_leave = there if there >= total else there // LINK_BLOCK_BYTES * LINK_BLOCK_BYTES
        length = min(may_leave - self.sent, frame_limit(total - self.sent, self.costs.frame_share))
        if length > 0:
            is_end = self.sent > 0 and self.sent + length == total
            self.left = length + LINK_OVERHEAD_BYTES + TENSOR_CRC_BYTES * is_end
            self.sent += length
        return length > 0


def frame_limit(left_bytes: int, share: int) -> int:
    """Return the longest payload of the next frame, as firmware/common/link_out.c has it.

    It is a `share` (in 256ths) of the whole blocks that are left, as the receiver's layer may wait for rows until the
    frame has ended; 0: there is no such limit.
    """
    if share == 0:
        return LINK_PAYLOAD_BYTES
    limit = -(-left_bytes // LINK_BLOCK_BYTES) * share // SHARES * LINK_BLOCK_BYTES
    return min(max(SHORTEST_LIMIT, limit), LINK_PAYLOAD_BYTES)


def best_share(compute_s: float, line_s: float) -> int:
    """Return the share of frames for a receiver that computes for `compute_s` what arrives within `line_s`.

    A frame of n of N bytes left is there n/N of their `line_s` later, and then `compute_s` of all of them remains:
    nothing is delayed while that is over when the last byte arrives, for n/N up to 1 - compute_s / line_s.
    """
    return min(max(int(SHARES * (1 - compute_s / line_s)), 1), SHARES - 1)


def _device(step: Costs) -> int:
    return step.device if isinstance(step, RunCosts) else step.receiver


def _devices(step: Costs) -> tuple[int, ...]:
    return (step.device,) if isinstance(step, RunCosts) else (step.sender, step.receiver)
