"""The figures of an assignment, and the reasons why no split exists."""

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from tinysplit.common.errors import InputError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.sub_models import SubModel, sub_models
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import DeviceLimits, LayerCosts, Problem
from tinysplit.split.solve import solve
from tinysplit.timing.topology import Cut

LAYERS = (
    LayerCosts.alike("conv1", 100, 500, 30, (1.0, 2.0)),
    LayerCosts.alike("conv2", 200, 400, 20, (2.0, 4.0)),
    LayerCosts.alike("conv3", 300, 300, 10, (3.0, 6.0)),
    LayerCosts.alike("dense", 400, 200, 5, (4.0, 8.0)),
)
TRANSFERS = tuple(((0.0, 0.1 * layer.out_bytes), (0.2 * layer.out_bytes, 0.0)) for layer in LAYERS)


def problem(*limits: tuple[int, int], layers: tuple[LayerCosts, ...] = LAYERS) -> Problem:
    names = ("nucleo_g071rb", "nucleo_f401re")
    return Problem(
        layers, tuple(DeviceLimits(name, *limit) for name, limit in zip(names, limits, strict=True)), TRANSFERS
    )


ROOMY = problem((1000, 500), (1000, 500))


def test_figures() -> None:
    figures = evaluate(ROOMY, (0, 1, 1, 0))
    assert figures.l_s == 1 + 4 + 6 + 4
    assert figures.t_s == pytest.approx(0.1 * 30 + 0.2 * 10)
    assert figures.i_s == figures.l_s + figures.t_s
    assert figures.flash_bytes == (500, 500)
    assert figures.ram_bytes == (500, 400)
    assert evaluate(ROOMY, (1, 1, 1, 1)).ram_bytes == (0, 500)


def test_cuts_and_sub_models() -> None:
    assert evaluate(ROOMY, (0, 1, 1, 0)).cuts == (
        Cut(0, 0, 1, 30, TRANSFERS[0][0][1]),
        Cut(2, 1, 0, 10, TRANSFERS[2][1][0]),
    )
    assert sub_models((0, 1, 1, 0)) == (SubModel(0, 0, 0), SubModel(1, 1, 2), SubModel(0, 3, 3))
    assert sub_models((1,)) == (SubModel(1, 0, 0),)
    assert evaluate(ROOMY, (1, 1, 1, 1)).cuts == ()


def test_feasibility() -> None:
    tight = problem((500, 500), (500, 400))
    assert evaluate(tight, (0, 1, 1, 0)).is_feasible
    assert not evaluate(tight, (0, 0, 1, 0)).is_feasible  # 700 bytes of flash on the first
    assert not evaluate(tight, (1, 0, 0, 1)).is_feasible  # 500 bytes of RAM on the second
    assert not evaluate(replace(ROOMY, must_use_all=True), (1, 1, 1, 1)).is_feasible
    assert not evaluate(replace(ROOMY, joined=frozenset({2})), (1, 1, 1, 0)).is_feasible
    assert evaluate(replace(ROOMY, joined=frozenset({2})), (1, 1, 0, 0)).is_feasible


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"layers": ()}, "nothing to split: 0 layers on 2 boards"),
        ({"devices": ()}, "nothing to split: 4 layers on 0 boards"),
        ({"devices": ROOMY.devices[:1]}, "layer 'conv1' lacks costs for some of the 1 boards"),
        ({"transfer_seconds": TRANSFERS[:2]}, "2 transfer tables for 4 layers"),
        (
            {"layers": (replace(LAYERS[0], seconds=(nan, 1.0)), *LAYERS[1:])},
            "layer 'conv1' has a negative or undefined cost",
        ),
        (
            {"layers": (replace(LAYERS[0], flash_bytes=(-1, 100)), *LAYERS[1:])},
            "layer 'conv1' has a negative or undefined cost",
        ),
        ({"transfer_seconds": (((1.0, 1.0), (1.0, 0.0)), *TRANSFERS[1:])}, "transfer cost from a board to itself"),
    ],
)
def test_costs_that_make_no_sense(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(ROOMY, **broken)


def line(case: Problem) -> str:
    """Return why an infeasible problem is so."""
    with pytest.raises(InfeasibleError) as caught:
        solve(case)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_layer_short_of_ram() -> None:
    assert line(problem((1000, 300), (1000, 440))) == (
        "layer 1 'conv1' alone needs 500 bytes of RAM; the smallest shortfall is 60 bytes, on board 2 (nucleo_f401re), "
        "which has 440"
    )


def test_layer_short_of_flash() -> None:
    assert line(problem((390, 500), (300, 500))) == (
        "layer 4 'dense' alone needs 400 bytes of flash; the smallest shortfall is 10 bytes, on board 1 "
        "(nucleo_g071rb), which has 390"
    )


def test_layer_short_of_one_memory_on_each_board() -> None:
    assert line(problem((1000, 450), (90, 500))) == (
        "layer 1 'conv1' fits on none of the boards: board 1 (nucleo_g071rb) lacks 50 bytes of RAM, "
        "board 2 (nucleo_f401re) lacks 10 bytes of flash"
    )


def test_network_short_of_flash() -> None:
    assert line(problem((450, 500), (500, 500))) == (
        "the network needs 1000 bytes of flash, both boards together have 950: 50 bytes short"
    )
    alone = Problem(
        tuple(LayerCosts.alike(layer.name, layer.flash_bytes[0], 1, 1, (1.0,)) for layer in LAYERS),
        ROOMY.devices[:1],
        (((0.0,),),) * len(LAYERS),
    )
    small = replace(alone, devices=(DeviceLimits("nucleo_g071rb", 900, 500),))
    assert line(small) == "the network needs 1000 bytes of flash, board 1 (nucleo_g071rb) has 900: 100 bytes short"
    three = tuple(DeviceLimits(f"b{k}", 300, 500) for k in range(3))
    wide = Problem(
        tuple(LayerCosts.alike(layer.name, 300, 1, 1, (1.0,) * 3) for layer in LAYERS),
        three,
        ((((0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0))),) * len(LAYERS),
    )
    assert line(wide) == "the network needs 1200 bytes of flash, all 3 boards together have 900: 300 bytes short"


def test_totals_fit_but_no_packing() -> None:
    # 100, 200, 300 and 400 into 550 + 480: at best 500 there and 500 here, 20 too many.
    assert line(problem((550, 500), (480, 500))) == (
        "every layer fits on some board and the total flash suffices, but no assignment is feasible: "
        "20 more bytes of flash on board 2 (nucleo_f401re) would suffice"
    )


def test_packing_that_ram_forbids() -> None:
    # Only the first board has the RAM for layers 1 and 2, which take 300 of its 290 bytes.
    assert line(problem((290, 500), (1000, 300))) == (
        "every layer fits on some board and the total flash suffices, but no assignment is feasible: "
        "10 more bytes of flash on board 1 (nucleo_g071rb) would suffice"
    )


def test_boards_without_a_link() -> None:
    apart = replace(problem((600, 500), (600, 500)), transfer_seconds=(((0.0, inf), (inf, 0.0)),) * 4)
    assert line(apart).endswith(": 400 more bytes of flash on board 1 (nucleo_g071rb) would suffice")
    only_ends = (
        replace(LAYERS[0], seconds=(1.0, inf)),
        *LAYERS[1:3],
        replace(LAYERS[3], seconds=(inf, 1.0)),
    )
    assert line(replace(apart, layers=only_ends)) == (
        "no assignment is feasible: the boards that can store the layers are not linked, or several lack flash"
    )


def test_layer_that_no_board_runs() -> None:
    layers = (*LAYERS[:3], replace(LAYERS[3], seconds=(inf, inf)))
    assert line(replace(ROOMY, layers=layers)) == "layer 4 'dense' can run on none of the boards"


def test_every_board_must_be_used() -> None:
    two = replace(ROOMY, layers=LAYERS[:1], transfer_seconds=TRANSFERS[:1], must_use_all=True)
    assert line(two) == "every one of 2 boards must be used, but the network has 1 layers"
    useless = replace(problem((1000, 500), (1000, 100)), must_use_all=True)
    assert line(useless) == "no assignment that uses every board is feasible: remove a board"
