"""The simulation of boards and links: counts by hand, the event graph, losses, copies and power."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from random import Random

import pytest
from hypothesis import given, settings
from simpy import Environment

from models.distributed_networks import distributed_cases
from session.profiles import cases
from splits.distributed_problems import made, overlapping
from splits.pipelines import ROOMY, TIGHT, graph_of, graph_times, pipeline, program_of, simulated
from splits.random_problems import Kinds, random_problem
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.protocol_limits import LINK_REPLY_BYTES
from tinysplit.network.distribution import Distributions
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, LayerCosts, Period, Problem
from tinysplit.timing.board import LOOK_AHEAD_S
from tinysplit.timing.figures import Timing
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.line import Line, SimulatedFrame
from tinysplit.timing.loss import Loss, Losses
from tinysplit.timing.power import Waiting, board_w, split_w
from tinysplit.timing.program import Kind
from tinysplit.timing.results import Activity, BoardTimes, Simulated
from tinysplit.timing.simulation import LOSSLESS, simulate
from tinysplit.timing.topology import Links

FIRMWARE = Kinds(periods=(Period.FIRMWARE,))
N_PROBLEMS = cases(quick=20, full=40, nightly=3000)
IN_FLIGHT = 8
ROUNDING_S = 1e-9


def with_handoff(problem: Problem, **changes: object) -> Problem:
    assert problem.handoff is not None
    return replace(problem, handoff=replace(problem.handoff, **changes))  # type: ignore[arg-type]


def without_receiving(problem: Problem) -> Problem:
    """Return the problem without the work of drivers that receive, which the simulation may hide in waits."""
    if problem.handoff is None:
        return problem
    return with_handoff(problem, receive_s=((0.0,) * len(problem.devices),) * (len(problem.layers) + 1))


@pytest.mark.parametrize(("room_bytes", "asked_s"), [(1, 0.009 + 2 * 0.0055), (2, 0.0)])
def test_a_board_that_polls_asks_for_grants_that_it_missed(room_bytes: int, asked_s: float) -> None:
    # A byte of a reply takes 0.5 ms, and the board looks once a ms: with room for two it misses none. Else it asks,
    # 6 + 2 + 1 ms (a reply, four bytes, a tick) after its layer of 10 s, and is granted what y had granted meanwhile.
    problem = with_handoff(
        pipeline(ROOMY, 2.0),
        overlaps=False,
        reply_s=((0.0, 0.0055), (0.0055, 0.0)),
        polled_room_bytes=(room_bytes,) * 2,
    )
    period_s = Timing((program_of(problem, (0, 1)),)).period_s
    assert period_s == pytest.approx(0.75 + 10 + asked_s + 2 + 0.0055, abs=ROUNDING_S)


def test_one_inference_by_hand() -> None:
    # 3 to feed, 0.25 to copy, 10, 0.25, 2 on the line, 0.25, 8, 0.25, 1 to read. Both receiving drivers work while
    # their boards wait; x sends for 0.5 while the tensor crosses.
    found = simulated(pipeline(ROOMY, 2.0), (0, 1), (5.0,))
    assert (found.passages[0].start_s, found.passages[0].latency_s) == (5.0, 25.0)
    assert found.inference_s == (10 + 0.25 + 0.25 + 2 + 0.25 + 8,)
    assert (found.l_s, found.t_s, found.hidden_s) == (18.0, (2.0,), 1.0)
    x, y = found.boards
    assert (x.computing_s, x.moving_s) == (10.0, 0.25 + 0.5 + 0.25 + 0.5)
    assert (y.computing_s, y.moving_s) == (8.0, 0.25 + 0.5 + 0.25 + 0.5)


def test_outputs_come_every_period_and_inputs_wait() -> None:
    problem = pipeline(ROOMY, 2.0)
    found = simulated(problem, (0, 1), (0.0,) * 20)
    assert found.period_s == evaluate(problem, (0, 1)).period_s == 11.5
    assert found.queue.highest == 19
    assert [each.level.highest for each in found.buffers] == [2, 1]
    slow = simulated(problem, (0, 1), [12.0 * number for number in range(20)])
    assert slow.period_s == pytest.approx(12)
    assert {round(passage.waiting_s, 9) for passage in slow.passages} == {0.0}
    # x also waits for each input: 12 s less 10 for the layer and 1.5 for tensors.
    assert slow.boards[0].waiting_s(slow.end_s) == pytest.approx(slow.end_s - 20 * 11.5)


def test_boards_without_buffers_wait_for_each_other() -> None:
    found = simulated(pipeline(TIGHT, 2.0), (0, 1), (0.0,) * 20)
    assert found.period_s == pytest.approx(3 + 10 + 2 + 0.125)
    assert [each.count for each in found.buffers] == [0, 0]


def test_the_end_of_a_tensor_is_seen_later_by_a_board_that_computes() -> None:
    problem = with_handoff(pipeline(ROOMY, 2.0), look_bytes=(0, 3), look_s=(0.0, 0.125))
    quick, slow = (replace(layer, seconds=(s,) * 2) for layer, s in zip(problem.layers, (1.0, 80.0), strict=True))
    found = simulated(replace(problem, layers=(quick, slow)), (0, 1), (0.0,) * 3)
    assert [each[0] for each in found.transfers_s] == [2.0, 2.125, 2.125]


class Frames:
    """Two frames without data, of 4 and 2 s, back to back."""

    order = 0

    def __init__(self) -> None:
        self.left = [SimulatedFrame(4, 4.0, lambda _: None), SimulatedFrame(2, 2.0, lambda _: None)]

    def next_note(self) -> SimulatedFrame | None:
        return self.left.pop(0) if self.left else None

    def next_data(self) -> None:
        pass

    def waits_before(self, number: int, order: int) -> bool:
        del number, order
        return False


@pytest.mark.parametrize(("most_bytes", "end_s"), [(100, 6.0), (5, 5.0), (1, 1.0)])
def test_a_line_pauses_behind_its_last_frame(most_bytes: int, end_s: float) -> None:
    env = Environment()
    line = Line(env, float(LINK_REPLY_BYTES), Losses(LOSSLESS, ""), None)
    line.speakers.append(Frames())
    line.begin()
    env.run(env.process(line.pause(most_bytes)))
    assert env.now == end_s


def with_latencies(problem: Problem, rng: Random) -> Problem:
    """Return the problem with hand-offs that take copies, lines and some time after them, and no drivers."""
    ends, parts = range(len(problem.devices)), problem.handoff_parts
    latencies_s = tuple(tuple(tuple(rng.uniform(0, 0.1) for _ in ends) for _ in ends) for _ in problem.layers)
    nothing = ((0.0,) * len(ends),) * (len(problem.layers) + 1)
    return replace(
        problem,
        handoff=replace(parts, latency_s=latencies_s, send_s=nothing, receive_s=nothing, reply_s=nothing[: len(ends)]),
    )


def test_one_inference_of_a_chain_is_the_sum_of_its_steps() -> None:
    n_all = 0
    for seed in range(N_PROBLEMS):
        rng = Random(seed)  # noqa: S311 (no secret)
        problem = with_latencies(random_problem(seed, Kinds(branches=False, periods=(Period.FIRMWARE,))), rng)
        assignment = tuple(rng.randrange(len(problem.devices)) for _ in problem.layers)
        if isfinite(evaluate(problem, assignment).i_s):
            n_all += 1
            program, parts = program_of(problem, assignment), problem.handoff_parts
            copies = [step for step in program.steps if step.is_staged and step.kind is not Kind.OUTPUT]
            lines_s = (
                parts.wire_s[cut.after_layer][cut.sender][cut.receiver]
                + parts.until_used_s(cut.after_layer, cut.sender, cut.receiver)
                for cut in program.transfers
            )
            copies_s = sum(parts.copy_s[step.tensor][step.device] for step in copies)
            assert Timing((program,)).i_s == pytest.approx(program.computing_s + sum(lines_s) + copies_s)
    assert n_all > N_PROBLEMS / 3


def test_divided_layers_by_hand() -> None:
    assert simulated(overlapping(), (0, 1, 0, 0), (0.0,)).inference_s == (12.75,)


def test_random_splits_agree_with_the_event_graph() -> None:
    n_equal = n_all = 0
    for seed in range(N_PROBLEMS):
        problem, rng = random_problem(seed, FIRMWARE), Random(seed)  # noqa: S311 (no secret)
        assignment = tuple(rng.randrange(len(problem.devices)) for _ in problem.layers)
        if isfinite(evaluate(problem, assignment).period_s):
            n_all += 1
            n_equal += agrees(without_receiving(problem), assignment)
            agrees(problem, assignment)
    assert n_equal > 0.85 * n_all


@settings(max_examples=cases(quick=3, full=6, nightly=300), deadline=None)
@given(distributed_cases())
def test_divided_layers_agree_with_the_event_graph(case: tuple[QuantizedGraph, Distributions, int]) -> None:
    agrees(*made(case))


def agrees(problem: Problem, assignment: Assignment) -> bool:
    """Check the times of inputs against the event graph, and return whether they are the same.

    They differ by no more than frames waited for others, receiving drivers worked in waits, and that of the host's port
    beside layers. A tensor that overtakes another one changes the order that the event graph has.
    """
    is_same = True
    for count in (1, IN_FLIGHT):
        found = simulated(problem, assignment, (0.0,) * count)
        if found.overtakings:
            return False
        expected = list(graph_times(problem, assignment, (0.0,) * count))
        for passage, (start_s, end_s) in zip(found.passages, expected, strict=True):
            for later_s in (passage.start_s - start_s, passage.end_s - end_s):
                assert -found.hidden_s - ROUNDING_S <= later_s <= found.hidden_s + found.contended_s + ROUNDING_S
                is_same &= abs(later_s) < ROUNDING_S
        if count == 1:
            differs_s = abs(found.inference_s[0] - graph_of(problem, assignment).latency_s())
            assert differs_s <= found.hidden_s + found.contended_s + ROUNDING_S
            is_same &= differs_s < ROUNDING_S
    return is_same


def two_readers(replies_s: float) -> Problem:
    """Return three layers; y runs the last two, which both read what x computes; all tensors take 2 s."""
    problem = pipeline(ROOMY, 2.0)
    a, b = problem.layers
    assert problem.handoff is not None
    table = problem.handoff.wire_s[0]
    return replace(
        problem,
        layers=(a, b, LayerCosts.alike("c", 1, 40, 20, (1.0, 1.0), (0, 1))),
        transfer_seconds=(table,) * 3,
        handoff=Handoff.of_lines((table,) * 3, ((0.0, 0.0),) * 2),
        links=Links((table,) * 3, ((False, False),) * 3, frozenset({(0, 1)} if replies_s else ())),
    )


def test_half_duplex_links_take_turns() -> None:
    both = [simulated(two_readers(half), (0, 1, 0), (0.0,) * 4) for half in (0.0, 1.0)]
    assert [each.passages[-1].end_s for each in both] == [both[0].passages[-1].end_s] * 2
    assert both[0].period_s == pytest.approx(10 + 2 + 8 + 2 + 1)


def test_lost_bytes_cost_time_and_repeat_with_a_seed() -> None:
    problem = with_handoff(pipeline(ROOMY, 0.02), reply_s=((0.0, 0.006), (0.006, 0.0)))
    clean, lossy, again, other = (
        simulated(problem, (0, 1), (0.0,) * 50, loss) for loss in (Loss(), *(Loss(0.005, seed) for seed in (1, 1, 2)))
    )
    assert clean.repeated_frames == 0 < lossy.repeated_frames
    assert lossy == again
    assert lossy.t_s != other.t_s
    assert all(mine_s >= clean_s for mine_s, clean_s in zip(lossy.t_s, clean.t_s, strict=True))


def test_a_link_that_loses_too_much_fails_by_name() -> None:
    problem = pipeline(ROOMY, 2.0)
    layers = tuple(replace(layer, out_bytes=200_000) for layer in problem.layers)
    with pytest.raises(CheckFailedError, match="too many bytes are lost: a link fails with LINK_"):
        simulated(replace(problem, layers=layers), (0, 1), (0.0,), Loss(0.01))
    with pytest.raises(UsageError, match=r"--loss-rate 0.02: a link may lose 0 to 0.01"):
        Loss(0.02)


def test_copies_are_dealt_the_inputs() -> None:
    # x takes 19 s from input to input, y 29 s: the host feeds 3 s, and both layers run on one board.
    problem = pipeline(ROOMY, 2.0)
    slow = tuple(replace(layer, seconds=(layer.seconds[0], layer.seconds[0] + 5)) for layer in problem.layers)
    problem = replace(problem, layers=slow)
    programs = [program_of(problem, (device, device)) for device in (1, 0)]
    found = simulate(programs, tuple(5.0 * number for number in range(10)), keeps_events=True)
    starts = [passage.start_s for passage in found.passages]
    assert starts[:4] == [0.0, 5.0, pytest.approx(10.0), pytest.approx(15.0)]  # the faster one first, then buffers
    layers = [event.number for event in found.events if event.activity is Activity.LAYER]
    assert sorted(layers) == list(range(10))
    assert {times.device: times.computing_s for times in found.boards} == {0: 6 * 18.0, 1: 4 * 28.0}


def test_rates_of_copies_add_up() -> None:
    problem = pipeline(ROOMY, 2.0)
    alone = [Timing((program_of(problem, (device, device)),)) for device in (0, 1)]
    both = Timing(tuple(each.programs[0] for each in alone))
    assert both.period_s == pytest.approx(alone[0].period_s / 2)
    assert both.shares == (0.5, 0.5)
    found = simulate(both.programs, (0.0,) * 42)
    ends = [passage.end_s for passage in found.passages]
    assert (ends[-3] - ends[-23]) / 20 == pytest.approx(both.period_s)  # beside the last two, no input comes


def powered(found: Simulated, problem: Problem) -> Sequence[float]:
    devices = [replace(device, run_w=2.0, transfer_w=1.5, idle_w=0.5) for device in problem.devices]
    return [split_w(found, devices, waiting) or 0.0 for waiting in Waiting]


def test_power_by_hand() -> None:
    device = replace(pipeline(ROOMY, 2.0).devices[0], run_w=2.0, transfer_w=1.5, idle_w=0.5)
    times = BoardTimes(0, computing_s=4.0, moving_s=2.0, awake_s=1.0)
    assert board_w(times, device, 10.0, Waiting.SLEEP) == pytest.approx((7 * 2 + 3 * 0.5) / 10)
    ticking = replace(times, tick_share=0.1)
    assert board_w(ticking, device, 10.0, Waiting.SLEEP) == pytest.approx((7.3 * 2 + 2.7 * 0.5) / 10)
    assert board_w(times, device, 10.0, Waiting.POLL) == pytest.approx(2)
    assert board_w(replace(times, polls=True), device, 10.0, Waiting.SLEEP) == pytest.approx(2)


def test_boards_sleep_but_for_the_ends_of_frames() -> None:
    problem = pipeline(ROOMY, 4.0)
    found = simulated(problem, (0, 1), (0.0, 100.0))
    assert [each.awake_s for each in found.boards] == [pytest.approx(2 * LOOK_AHEAD_S)] * 2
    polls, sleeps = powered(found, problem)
    waits_s = sum(times.waiting_s(found.end_s) for times in found.boards)
    assert polls - sleeps == pytest.approx(1.5 * (waits_s - 4 * LOOK_AHEAD_S) / found.end_s)
    assert split_w(found, problem.devices, Waiting.SLEEP) is None


def test_boards_that_hear_every_byte_sleep_until_the_last() -> None:
    problem = with_handoff(pipeline(ROOMY, 4.0), hears_bytes=(True, True))
    assert [each.awake_s for each in simulated(problem, (0, 1), (0.0,)).boards] == [0.0, 0.0]


def test_sleep_until_the_tick_before_a_short_acknowledgement() -> None:
    # All of a reply of 0.4 ms where the tick comes behind it, else what the tick leaves of it: 0.6 x 0.4 + 0.4 x 0.2.
    problem = with_handoff(pipeline(ROOMY, 4.0), reply_s=((0.0, 4e-4), (4e-4, 0.0)))
    assert simulated(problem, (0, 1), (0.0,)).boards[0].awake_s == pytest.approx(3.2e-4)


def timing(problem: Problem, interval_s: float = 0.0) -> Timing:
    return Timing((program_of(problem, (0, 1)),), interval_s)


def approx(*seconds: float) -> object:
    return pytest.approx(seconds, abs=1e-9)


def test_activities_of_an_inference_by_hand() -> None:
    # x takes in for 0.75, computes for 10 and gives out for 0.75; y does the same with 8, and no tensor to acknowledge.
    x, y = timing(pipeline(ROOMY, 2.0)).activities_alone
    assert x[1:3] == approx(11.5 + LOOK_AHEAD_S, 25.0 - 11.5 - LOOK_AHEAD_S)
    assert y[1:3] == approx(9.5 + LOOK_AHEAD_S, 25.0 - 9.5 - LOOK_AHEAD_S)
    x, y = timing(pipeline(ROOMY, 2.0)).activities_in_stream
    assert x[1:3] == approx(11.5, 0.0)
    assert y[1:3] == approx(9.5 + LOOK_AHEAD_S, 2.0 - LOOK_AHEAD_S)
    x, _ = timing(pipeline(ROOMY, 2.0), 20.0).activities_in_stream
    assert x[1:3] == approx(11.5 + LOOK_AHEAD_S, 8.5 - LOOK_AHEAD_S)


def test_interrupts_take_time_from_sleep() -> None:
    problem = pipeline(ROOMY, 2.0)
    woken = with_handoff(problem, wake_s=((0.0, 0.0), (0.0, 0.0), (0.25, 0.25)), tick_shares=(0.1, 0.0))
    (before, *_), (after, *_) = timing(problem).activities_alone, timing(woken).activities_alone
    assert after.run_s - before.run_s == pytest.approx(0.25 + 0.1 * (before.sleep_s - 0.25))


def at_baud(problem: Problem, baud: int, rng: Random) -> Problem:
    """Return the problem with tensors of real sizes on lines of a baud rate, with and without buffers."""
    layers = tuple(replace(layer, out_bytes=rng.choice((0, 64, 300, 2049))) for layer in problem.layers)
    devices = tuple(replace(device, ram_bytes=rng.choice((0, 10**6))) for device in problem.devices)
    ends = range(len(devices))
    tensors_s = (10 * (layer.out_bytes + 15) / baud for layer in layers)
    wire_s = tuple(tuple(tuple(s * (i != h) for h in ends) for i in ends) for s in tensors_s)
    handoff = Handoff.of_lines(wire_s, problem.handoff_parts.host_s)
    replies_s = ((110 / baud,) * len(devices),) * len(devices)
    found = replace(problem, layers=layers, devices=devices, links=None, transfer_seconds=wire_s)
    return replace(found, handoff=replace(handoff, reply_s=replies_s))


def test_every_tensor_arrives_whatever_is_lost() -> None:
    n_repeated = 0
    for seed in range(cases(quick=5, full=20, nightly=500)):
        rng = Random(seed)  # noqa: S311 (no secret)
        problem = at_baud(random_problem(seed, FIRMWARE), rng.choice((9600, 1_000_000)), rng)
        assignment = tuple(rng.randrange(len(problem.devices)) for _ in problem.layers)
        if isfinite(evaluate(problem, assignment).period_s):
            found = simulated(problem, assignment, (0.0,) * 4, Loss(0.005, seed))
            assert min(passage.end_s for passage in found.passages) > 0
            n_repeated += found.repeated_frames
    assert n_repeated > 0
