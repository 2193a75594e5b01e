import itertools

import numpy as np
import pytest

from tinysplit.boards import load_board
from tinysplit.errors import UsageError
from tinysplit.graph import Graph
from tinysplit.layers import Dense, Shape
from tinysplit.plan import layer_ram_bytes, make_plan
from tinysplit.split.memory import aligned
from tinysplit.split.problem import DeviceLimits, LayerCosts, Problem

WIDTHS = (10, 7, 33, 5, 6)  # tensors of a chain of four dense layers


def chain() -> Graph:
    layers = tuple(
        Dense(
            name=f"dense{i}",
            inputs=(f"t{i}",),
            output=f"t{i + 1}",
            in_shape=Shape(1, 1, inputs),
            weights=np.zeros((outputs, inputs), np.float32),
            bias=np.zeros(outputs, np.float32),
        )
        for i, (inputs, outputs) in enumerate(itertools.pairwise(WIDTHS))
    )
    return Graph.of_layers("chain", layers)


def problem(n_devices: int) -> Problem:
    layers = tuple(LayerCosts(f"dense{i}", 1, 1, WIDTHS[i + 1], (1.0,) * n_devices) for i in range(4))
    devices = tuple(DeviceLimits(f"d{i}", 100, 100) for i in range(n_devices))
    transfers = tuple(
        tuple(tuple(0.0 if a == b else 0.5 for b in range(n_devices)) for a in range(n_devices)) for _ in layers
    )
    return Problem(layers, devices, transfers)


def test_a_board_may_have_several_sub_models_and_one_link_serves_both_directions() -> None:
    boards = (load_board("nucleo_g071rb"), load_board("nucleo_f401re"))
    plan = make_plan(chain(), 8, boards, problem(2), (0, 1, 1, 0), 115200)

    first, second = plan.boards
    assert [sub_model.layers for sub_model in first.sub_models] == [range(1), range(3, 4)]
    assert [(s.cut_in, s.cut_out) for s in first.sub_models] == [(None, 0), (1, None)]
    assert [(s.cut_in, s.cut_out) for s in second.sub_models] == [(0, 1)]
    assert [(cut.after_layer, cut.sender, cut.receiver, cut.payload_bytes) for cut in plan.cuts] == [
        (0, 0, 1, 7),
        (2, 1, 0, 5),
    ]
    assert len(plan.links) == 1
    assert plan.links[0].uarts == (boards[0].link_uarts[0], boards[1].link_uarts[0])


@pytest.mark.parametrize("bits", [8, 16])
def test_tensors_that_live_together_do_not_meet(bits: int) -> None:
    boards = (load_board("nucleo_g071rb"),)
    (board_plan,) = make_plan(chain(), bits, boards, problem(1), (0, 0, 0, 0), 115200).boards
    (sub_model,) = board_plan.sub_models

    spans = list(zip(sub_model.offsets, sub_model.sizes_bytes, strict=True))
    assert [size for _, size in spans] == [width * bits // 8 for width in WIDTHS]
    for (a, a_size), (b, b_size) in itertools.pairwise(spans):
        assert a + a_size <= b or b + b_size <= a
    assert all(offset % 4 == 0 and offset + size <= board_plan.arena_bytes for offset, size in spans)


def test_the_arena_is_the_largest_pair_of_neighbours() -> None:
    boards = (load_board("nucleo_g071rb"),)
    (board_plan,) = make_plan(chain(), 8, boards, problem(1), (0, 0, 0, 0), 115200).boards
    assert board_plan.arena_bytes == 36 + 8  # 33 and 7 bytes in whole words
    assert aligned(33) == 36
    assert layer_ram_bytes(33, 5) == 44


def test_too_few_link_uarts_are_named() -> None:
    hub, leaf = load_board("nucleo_l412kb"), load_board("nucleo_g071rb")
    boards = (leaf, hub, leaf, leaf)
    with pytest.raises(UsageError, match=r"board 2 \(nucleo_l412kb\) has 1 link UARTs"):
        make_plan(chain(), 8, boards, problem(4), (0, 1, 2, 3), 115200)


def test_a_baud_rate_that_a_uart_cannot_make_is_refused() -> None:
    boards = (load_board("nucleo_g071rb"), load_board("nucleo_g071rb"))
    with pytest.raises(UsageError, match="baud"):
        make_plan(chain(), 8, boards, problem(2), (0, 0, 1, 1), 4_500_000)
