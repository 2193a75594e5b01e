"""The actions of boards that compute while tensors cross: none waits for a later one; latency counted by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings

from models.distributed_networks import distributed_cases
from session.profiles import cases
from splits.distributed_problems import made, overlapping
from splits.pipelines import graph_of, program_of
from tinysplit.memory.schedule import StepKind
from tinysplit.network.distribution import Distributions
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.split.evaluate.actions import BoardAction, actions
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.problem import Assignment
from tinysplit.timing.figures import Timing
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.program import BoardStep, Kind, with_drivers
from tinysplit.timing.topology import Cut


@settings(max_examples=cases(quick=5, full=12, nightly=300))
@given(distributed_cases())
def test_every_action_waits_for_earlier_ones_alone(case: tuple[QuantizedGraph, Distributions, int]) -> None:
    problem, assignment = made(case)
    sent = transfers(problem, assignment)
    found = list(actions(problem, assignment, sent))
    assert [each.item for each in found if each.action is StepKind.RUN] == list(range(len(assignment)))
    places = {each: place for place, each in enumerate(found)}
    assert len(places) == len(found) == len(assignment) + 4 * len(sent)
    for number, cut in enumerate(sent):
        grant = places[BoardAction(StepKind.GRANT, cut.receiver, number)]
        send = places[BoardAction(StepKind.SEND, cut.sender, number)]
        arrived = places[BoardAction(StepKind.RECEIVE, cut.receiver, number)]
        assert grant < arrived
        assert send < arrived
        assert send < places[BoardAction(StepKind.SENT, cut.sender, number)]
        assert has(places, sent, cut.sender, cut.after_layer, assignment) < send
        readers = [reader for reader in problem.readers[cut.after_layer] if assignment[reader] == cut.receiver]
        assert all(arrived < places[BoardAction(StepKind.RUN, cut.receiver, reader)] for reader in readers)


def has(places: dict[BoardAction, int], sent: Sequence[Cut], device: int, layer: int, assignment: Assignment) -> int:
    """Return the place of the action after which a device has the output of a layer."""
    if assignment[layer] == device:
        return places[BoardAction(StepKind.RUN, device, layer)]
    numbers = (number for number, cut in enumerate(sent) if (cut.after_layer, cut.receiver) == (layer, device))
    return places[BoardAction(StepKind.RECEIVE, device, next(numbers))]


@settings(max_examples=cases(quick=5, full=12, nightly=300))
@given(distributed_cases())
def test_tensors_cross_a_link_in_the_order_of_their_grants(case: tuple[QuantizedGraph, Distributions, int]) -> None:
    problem, assignment = made(case)
    sent = transfers(problem, assignment)
    orders: dict[StepKind, dict[tuple[int, int], list[int]]] = {}
    for action, _, item in actions(problem, assignment, sent):
        if action in {StepKind.GRANT, StepKind.SEND}:
            line = (sent[item].sender, sent[item].receiver)
            orders.setdefault(action, {}).setdefault(line, []).append(item)
    assert orders.get(StepKind.GRANT) == orders.get(StepKind.SEND)


def test_boards_compute_side_by_side() -> None:
    problem = overlapping()
    # x copies the input for 0.25 s, and computes layer 0 until 1.25; for 0.25 s its driver sends, then layer 2 runs
    # until 11.5. y has the tensor after 3 s, at 4.25: its driver has worked while it waited. It computes layer 1 until
    # 8.25; x has its output at 11.25. The driver of x worked 0.25 s for it beside layer 2: layer 3 ends at 12.75.
    assignment = (0, 1, 0, 0)
    assert graph_of(problem, assignment).latency_s() == 12.75
    assert Timing((program_of(problem, assignment),)).i_s == 12.75
    alone_s = sum(layer.seconds[board] for layer, board in zip(problem.layers, (0, 1, 0, 0), strict=True))
    assert alone_s == 16


@pytest.mark.parametrize(
    ("beside_s", "expected_s", "simulated_s"), [(10.25, 13.0, 13.0), (9.75, 12.5, 12.75), (6.0, 12.25, 12.75)]
)
def test_drivers_work_while_a_board_waits(beside_s: float, expected_s: float, simulated_s: float) -> None:
    # x computes layer 2 until beside_s + 1.5, has what y has computed at 11.25, and its driver works 0.25 s for that.
    # As the grant of x leaves before its tensor, all that is 0.5 s later.
    problem, assignment = overlapping(beside_s), (0, 1, 0, 0)
    assert graph_of(problem, assignment).latency_s() == expected_s
    assert Timing((program_of(problem, assignment),)).i_s == simulated_s


def test_a_sent_tensor_delays_what_comes_while_it_crosses() -> None:
    """A quarter of it crosses while the board waits for a shorter one: the rest delays the layer behind that."""
    wire_s = tuple(((0.0, seconds), (seconds, 0.0)) for seconds in (4.0, 1.0))
    parts = replace(Handoff.of_lines(wire_s, ()), send_s=((0.5, 0.5),) * 3, receive_s=((0.25, 0.25),) * 3)
    steps = [
        BoardStep(Kind.SEND, 0, 0, 0),
        BoardStep(Kind.RUN, 0, 0),
        BoardStep(Kind.RECEIVE, 0, 1, 1),
        BoardStep(Kind.RUN, 0, 2, seconds=1.0),
        BoardStep(Kind.SENT, 0, 0, 0),
    ]
    crossing = (Cut(0, 0, 1, 9, 4.0), Cut(1, 1, 0, 9, 1.0))
    assert [step.driver_s for step in with_drivers(steps, parts, crossing)] == [0, 0, 0.25 + 0.125, 0.375, 0]
