"""What maximises throughput by the estimate: nothing that one board or copies of the whole network beat."""

import itertools
from pathlib import Path

import pytest
from rich.console import Console

from example_folders.example import MODEL
from session.shared_models import KWS, RESNET, shared_model
from tinysplit import pipeline
from tinysplit.common.choices import Copies
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.slices.settings import Search
from tinysplit.split.evaluate.one_board import one_board_period_s
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Split

G0, F4, L4, H7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_l412kb", "nucleo_h743zi"
PAIRS = (*itertools.combinations((G0, F4, L4, H7), 2), (G0, G0), (L4, L4))
DAILY_PAIRS = ((F4, L4), (G0, H7))  # of large networks, and at a low rate: each board once
OTHER_PAIRS = tuple(pytest.param(boards, marks=pytest.mark.nightly) for boards in PAIRS if boards not in DAILY_PAIRS)


def recommended(model: Path, boards: tuple[str, ...], baud: int) -> Split:
    settings = CostSettings(objective=Objective.THROUGHPUT, baud=baud)
    context = Context.load(model, boards, settings, Console(quiet=True))
    return pipeline.split_network(context, Search(copies=Copies.IF_BETTER))


def assert_unbeaten(split: Split) -> None:
    copies = replicate(split.problem)
    others = [one_board_period_s(split.problem), copies.period_s if copies else None]
    assert all(split.figures.period_s <= other * (1 + 1e-9) for other in others if other is not None)


@pytest.mark.parametrize("boards", PAIRS, ids="+".join)
def test_no_board_and_no_copies_are_better(boards: tuple[str, str]) -> None:
    assert_unbeaten(recommended(MODEL, boards, 921_600))


@pytest.mark.parametrize("boards", [*DAILY_PAIRS, *OTHER_PAIRS], ids="+".join)
def test_no_board_and_no_copies_are_better_at_a_low_rate(boards: tuple[str, str]) -> None:
    assert_unbeaten(recommended(MODEL, boards, 115_200))


@pytest.mark.slow
@pytest.mark.parametrize(
    "boards",
    [*DAILY_PAIRS, *OTHER_PAIRS],
    ids="+".join,
)
@pytest.mark.parametrize("name", [KWS, RESNET])
def test_no_board_and_no_copies_are_better_for_real_networks(name: str, boards: tuple[str, str]) -> None:
    assert_unbeaten(recommended(shared_model(name), boards, 921_600))


def test_keyword_spotting_on_two_small_boards() -> None:
    split = recommended(shared_model(KWS), (G0, G0), 921_600)
    assert split.copies == (0, 1)
    assert split.period_s == pytest.approx(0.0684, rel=0.01)


def test_resnet_on_four_boards() -> None:
    split = recommended(shared_model(RESNET), ("nucleo_l452re",) * 4, 921_600)
    assert split.copies == (0, 1, 2, 3)
