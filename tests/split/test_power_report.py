"""Mean power and energy with and without sleep, and what is said where currents are not known."""

from dataclasses import replace

import pytest

from splits.pipelines import ROOMY, pipeline
from tinysplit.common.errors import InputError
from tinysplit.split.problem import Period, Problem, check_currents
from tinysplit.split.solution import Split
from tinysplit.timing.board import LOOK_AHEAD_S


def powered(frame_period_s: float = 0.0) -> Problem:
    problem = pipeline(ROOMY, 2.0)
    devices = tuple(replace(device, run_w=2.0, transfer_w=2.0, idle_w=0.5) for device in problem.devices)
    return replace(problem, devices=devices, frame_period_s=frame_period_s)


def split_of(problem: Problem, copies: tuple[int, ...] = ()) -> Split:
    return Split(problem, (0, 1), 0.0, 1, "by hand", 0.0, copies=copies)


def test_sleep_pays_where_boards_wait() -> None:
    # x runs for all of 11.5 s, y for 9.5 s of them, and awake before the end of a frame.
    found = split_of(powered()).power
    assert found is not None
    assert found.polling_j == pytest.approx(2 * 2.0 * 11.5)
    assert found.sleeping_j == pytest.approx(2 * 2.0 * 11.5 - 1.5 * (2.0 - LOOK_AHEAD_S))
    assert found.sleeping_w == pytest.approx(found.sleeping_j / 11.5)
    assert found.to_json()["saved"] == pytest.approx(3 / 46, abs=1e-4)
    assert "sleeping while boards wait pays, it saves 7 %" in found.text
    slower = split_of(powered(frame_period_s=23.0)).power
    assert slower is not None
    assert slower.saved > found.saved


def test_sleep_hardly_pays_where_boards_do_not_wait() -> None:
    problem = powered()
    busy = replace(problem, layers=(problem.layers[0], replace(problem.layers[1], seconds=(9.99, 9.99))))
    found = split_of(busy).power
    assert found is not None
    assert "hardly pays" in found.text


def test_copies_add_up() -> None:
    found, one = split_of(powered(), copies=(0, 1)).power, split_of(powered(), copies=(0,)).power
    assert found is not None
    assert one is not None
    assert found.sleeping_w == pytest.approx(2 * one.sleeping_w)
    assert found.sleeping_j == pytest.approx(one.sleeping_j)


def test_no_power_without_a_model_of_the_firmware_or_currents() -> None:
    assert split_of(replace(powered(), period_definition=Period.LOAD)).power is None
    unknown = split_of(pipeline(ROOMY, 2.0))
    assert unknown.power is None
    assert unknown.without_currents == ("x", "y")
    assert split_of(powered()).without_currents == ()


def test_energy_is_refused_where_currents_are_not_known() -> None:
    problem = powered()
    known, other = problem.devices
    problem = replace(problem, devices=(known, replace(other, run_w=0.0, transfer_w=0.0, idle_w=0.0)))
    text = r"no energy model for y, because its file has no \[power\]: add its currents"
    with pytest.raises(InputError, match=text):
        check_currents(problem.devices)
