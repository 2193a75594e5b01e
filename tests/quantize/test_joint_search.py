"""`run --bits auto`: the split is that of the widths that are used, and what fits is what would be planned."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from commands.command_line import USAGE, run
from example_folders import example
from tinysplit.boards.catalog import load_all
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.removal.cropped_maps import cropped
from tinysplit.onnx_import import import_model
from tinysplit.plan.planned_split import PlacedNetwork
from tinysplit.project.split_file import read_split
from tinysplit.quantize.choose_formats import choose_formats, quantize
from tinysplit.quantize.mixed_precision.bit_allocation import MixedPrecision
from tinysplit.quantize.mixed_precision.bit_costs import WidthCosts
from tinysplit.quantize.mixed_precision.joint_search import MOST_ROUNDS, JointSplit, search_jointly
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment
from tinysplit.split.solution import Placement, Split

A, B, C = (0, 0), (0, 1), (1, 1)


def two_layers() -> Graph:
    return NetworkBuilder("two", Shape(1, 1, 4)).dense(4).dense(2).graph()


def widths_of(graph: Graph, bits: int) -> MixedPrecision:
    ranges = dict.fromkeys(graph.value_names, (-1.0, 1.0))
    quantized = quantize(graph, choose_formats(graph, ranges, bits), bits)
    return cast("MixedPrecision", SimpleNamespace(quantized=quantized))


def settled(splits: list[Assignment], widths: dict[Assignment, int]) -> tuple[JointSplit, list[set[int]]]:
    """Return where these splits lead, one after the other, and the widths that each was found with."""
    graph, seen, left = two_layers(), [], iter(splits)

    def split_with(widths: BitWidths) -> Split:
        seen.append({*widths.values.values(), *widths.weights.values()})
        return cast("Split", SimpleNamespace(placement=Placement((next(left),))))

    def widths_for(placement: Placement) -> MixedPrecision:
        (assignment,) = placement.assignments
        if assignment not in widths:
            raise CheckFailedError(f"nothing for {assignment}")
        return widths_of(graph, widths[assignment])

    return search_jointly(graph, split_with, widths_for), seen


def test_a_split_that_stays_is_settled_in_a_round() -> None:
    found, seen = settled([A, A], {A: 16})
    assert seen == [{8}, {16}]
    assert found.split.placement.devices == A
    assert list(found.lines()) == [
        "mixed precision, round 1: 16 bits for 5 of 5 tensors on the 8-bit split, same split"
    ]


def test_another_split_gets_widths_of_its_own() -> None:
    found, seen = settled([A, B, B], {A: 16, B: 8})
    assert seen == [{8}, {16}, {8}]
    assert [own.converged for own in found.rounds] == [False, True]
    assert found.to_json()["rounds"][0] == {"tensors_16_bits": 5, "tensors": 5, "before": [1, 1], "after": [1, 2]}
    assert found.to_json()["converged"]


def test_splits_that_alternate_end_with_the_split_of_the_widths_that_are_used() -> None:
    found, seen = settled([A, B] * MOST_ROUNDS, {A: 16, B: 8})
    assert len(found.rounds) == MOST_ROUNDS
    assert found.rounds[-1].after == found.split.placement
    assert seen[-1] == {*found.widths.values.values()}
    assert list(found.lines())[-1].startswith(f"mixed precision: not converged after {MOST_ROUNDS} rounds")


def test_where_the_split_of_8_bits_leaves_no_room_that_of_16_does() -> None:
    found, seen = settled([A, C, C], {C: 16})
    assert seen == [{8}, {16}, {16}]
    assert "on the 16-bit split" in next(found.lines())
    with pytest.raises(CheckFailedError, match=r"nothing for \(0, 0\)"):
        settled([A, B], {})


def pointwise(rows: int) -> Graph:
    return NetworkBuilder("pointwise", Shape(rows, 16, 32)).conv(32, (1, 1)).conv(32, (1, 1)).graph()


@pytest.mark.parametrize(("rows", "fits"), [(16, True), (30, True), (33, False)])
def test_what_fits_is_what_is_planned(rows: int, fits: bool) -> None:
    graph, boards = pointwise(rows), load_all(["nucleo_g071rb"])
    long = BitWidths.all(graph, 16)
    assert WidthCosts(shipped_table(), graph, boards, CostSettings(), Placement(((0, 0),))).fits(long) is fits
    assert rows == 16 or 2 * long.size_bytes(graph, 0) > boards[0].device.largest_ram.size_bytes  # side by side


def test_limits_of_the_split_hold_with_widths_too() -> None:
    graph, boards = import_model(example.MODEL), load_all(["nucleo_f446re"])
    short, long = (BitWidths.all(graph, bits) for bits in (8, 16))
    placement = Placement(((0,) * len(graph.layers),))
    short_s, long_s = (
        evaluate(make_problem(shipped_table(), graph, boards, CostSettings(), widths), placement.devices).i_s
        for widths in (short, long)
    )
    assert WidthCosts(shipped_table(), graph, boards, CostSettings(), placement).seconds(long) == pytest.approx(long_s)
    costs = WidthCosts(shipped_table(), graph, boards, CostSettings(max_latency_s=(short_s + long_s) / 2), placement)
    assert costs.fits(short)
    assert not costs.fits(long)


def test_a_value_that_crosses_costs_its_time_on_the_link() -> None:
    graph, boards = import_model(example.MODEL), load_all(["nucleo_f446re"] * 2)
    costs = WidthCosts(shipped_table(), graph, boards, CostSettings(baud=115_200), Placement(((0, 0, 1, 1, 1, 1, 1),)))
    short = BitWidths.all(graph, 8)
    crossing = short.with_value(graph, graph.layers[0].output, 16)
    staying = short.with_value(graph, graph.layers[2].output, 16)
    link_s = graph.layers[1].out_shape.size * 10 / 115200  # as many bytes more
    assert costs.seconds(crossing) - costs.seconds(short) > link_s
    assert costs.seconds(staying) - costs.seconds(short) < link_s


def test_the_split_of_a_folder_is_that_of_its_widths(tmp_path: Path) -> None:
    report, folder = example.shared_mixed_run()
    assert report["mixed_precision"]["rounds"][-1]["after"] == report["split"]["assignment"]
    split = read_split(folder / "split.json")
    assert split.bit_widths
    assert {*split.bit_widths.values.values()} == {8, 16}
    boards, graph = load_all(split.board_names), cropped(import_model(example.MODEL))
    placed = PlacedNetwork.of(graph, split.bit_widths, len(boards), split.placement)
    problem = make_problem(shipped_table(), placed.graph, boards, split.settings, placed.widths)
    found = evaluate(problem, placed.assignments[0])
    assert found.i_s == pytest.approx(split.figures.I, rel=0.01)  # the copy of the input
    layers = json.loads((folder / "tinysplit.json").read_text())["layers"]
    total_s = sum(layer["estimated_s"] for layer in layers)
    assert total_s == pytest.approx(split.figures.L, rel=0.05)  # formats are known, and layers run fused
    error = run(
        "generate",
        str(example.MODEL),
        "--split",
        str(folder / "split.json"),
        "--samples",
        str(example.SAMPLES),
        "--bits",
        "16",
        "-o",
        str(tmp_path / "no"),
        expect=USAGE,
    )
    assert "was made with --bits auto" in error
