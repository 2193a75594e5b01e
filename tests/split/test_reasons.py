"""Why a split was taken: what `split` prints, and has in its file."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from commands.command_line import run
from example_folders import example
from tinysplit.common.choices import Copies, SecondObjective, Slices
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.pipeline import pareto_front, place, split_network
from tinysplit.project.split_file import read_split
from tinysplit.slices.settings import Search
from tinysplit.split.explain.reasons import MOST_CUTS, NamedValue, Reasons, kind_of, placement_text
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Placement

G0 = ("-b", "nucleo_g071rb")
ROWS, CHANNELS = (Distribution.of_sizes(axis, (4, 4)) for axis in SliceAxis)
WHOLE = Distribution.of_sizes(SliceAxis.ROWS, (8, 0))


def divided(*layers: Distribution) -> Placement:
    return Placement(((0,),), Distributions(layers, 0, 0))


@pytest.mark.parametrize(
    ("placement", "kind", "text"),
    [
        (Placement(((0, 0),)), "one board", "layers 1-2 on board 1"),
        (Placement(((0, 1),)), "whole layers", "layers 1 on board 1, 2 on board 2"),
        (Placement(((0, 0), (2, 2))), "copies", "copies on boards 1 and 3"),
        (divided(ROWS, ROWS, WHOLE), "rows", "layers 1-2 by rows over boards 1 and 2, 3 on board 1"),
        (
            divided(ROWS, CHANNELS),
            "rows and channels",
            "layers 1 by rows over boards 1 and 2, 2 by channels over boards 1 and 2",
        ),
        (divided(WHOLE, WHOLE), "one board", "layers 1-2 on board 1"),
    ],
)
def test_kinds_of_placements(placement: Placement, kind: str, text: str) -> None:
    assert (kind_of(placement), placement_text(placement)) == (kind, text)


def test_what_is_printed() -> None:
    reasons = Reasons(
        best_of_each_kind={"rows": 0.02, "one board": 0.04},
        following=(NamedValue(name="layers 1-2 on board 1", value=0.04),),
        by_cut=(0.05, None, 0.06),
        faster=(NamedValue(name="links at 8000000 baud", value=0.019),),
    )
    assert list(reasons.lines(Objective.LATENCY)) == [
        "next: 40.00 ms, layers 1-2 on board 1",
        "whole layers by the cut after layer (ms): 1 50.00, 3 60.00",
        "with links at 8000000 baud: 19.00 ms",
    ]
    console = Console(width=80)
    with console.capture() as capture:
        console.print(reasons.table(Objective.ENERGY))
    assert [line.split() for line in capture.get().splitlines()[1:]] == [["rows", "20.000"], ["one", "board", "40.000"]]


def test_of_many_cuts_the_best_are_printed() -> None:
    values = tuple(0.1 - 0.001 * number for number in range(40))
    reasons = Reasons(best_of_each_kind={}, following=(), by_cut=values, faster=())
    line = list(reasons.lines(Objective.LATENCY))[-1]
    assert f"the best {MOST_CUTS} of 40): 29 72.00, " in line
    assert line.endswith("40 61.00")


def test_split_tells_and_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    printed = run("split", str(example.MODEL), *G0, *G0, "-o", str(path))
    assert "best of each kind " in printed
    reasons = read_split(path).reasons
    taken = json.loads(path.read_text())["figures"]["I"]
    assert reasons is not None
    assert len(reasons.by_cut) == 6
    assert reasons.best_of_each_kind["rows and channels"] == taken
    assert min(reasons.best_of_each_kind.values()) == taken
    assert [each.value for each in reasons.following] == sorted(each.value for each in reasons.following)
    assert len(reasons.following) == 4
    assert all(each.value < taken for each in reasons.faster)
    assert not any("another" in each.name for each in reasons.faster)
    assert "with another nucleo_g071rb: " in run(
        "split", str(example.MODEL), *G0, *G0, "-o", str(path), "--force", "--explain"
    )


def test_copies_have_the_figures_that_split_gives_them() -> None:
    """In the reasons of a split and on a front: their rates add up."""
    boards, settings = (G0[1], G0[1]), CostSettings(baud=921_600, objective=Objective.THROUGHPUT)
    context = Context.load(example.MODEL, boards, settings, Console(quiet=True)).of_quantized_file()
    split = split_network(context, Search(copies=Copies.ALWAYS))
    assert split.copies == (0, 1)
    assert place(context, split.placement).value == pytest.approx(split.value, rel=1e-12)
    front = pareto_front(context, SecondObjective.THROUGHPUT, Search(slices=Slices.NONE, time_limit_s=5.0))
    copies = next(point for point in front.points if point.copies)
    assert (copies.latency_s, copies.period_s) == pytest.approx((split.i_s, split.period_s), rel=1e-12)
