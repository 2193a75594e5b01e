"""Predictions for scripts: the figures of `tinysplit split`, from shapes alone."""

from typing import Any

import pytest
from rich.console import Console

from example_folders.example import MODEL
from tinysplit import api
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.layers import Shape
from tinysplit.pipeline import split_network
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Objective

F4, G0 = api.load_board("nucleo_f401re"), api.load_board("nucleo_g071rb")


@pytest.mark.parametrize("objective", Objective)
def test_the_figures_are_those_of_a_split(objective: Objective) -> None:
    found = api.predict(api.load_model(MODEL), [G0, F4], baud=921_600, objective=objective)
    settings = CostSettings(baud=921_600, objective=objective)
    context = Context.load(MODEL, (G0.name, F4.name), settings, Console(quiet=True)).of_quantized_file()
    split = split_network(context, Search(slices=Slices.NONE))
    assert (found.latency_s, found.period_s, found.energy_j) == (split.i_s, split.period_s, split.energy_j)
    layers = {board.name: board.layers for board in found.boards}
    assert layers == {
        board.name: own
        for index, board in enumerate((G0, F4))
        if (own := tuple(number for number, device in enumerate(split.assignment, 1) if device == index))
    }


def test_a_network_of_shapes() -> None:
    graph = api.NetworkBuilder("nas", Shape(32, 32, 3)).conv(16, (3, 3), 2).depthwise().conv(32).dense(10).graph()
    one, two = (api.predict(graph, [F4] * count, baud=2_000_000) for count in (1, 2))
    (board,) = one.boards
    assert (board.name, board.layers) == ("nucleo_f401re", (1, 2, 3, 4))
    assert board.l_s == pytest.approx(one.latency_s, rel=0.02)  # which has what passes before the first layer
    assert 0 < board.flash_bytes <= F4.device.flash.size_bytes
    assert two.latency_s <= one.latency_s
    assert one.energy_j


def test_more_channels_take_more_of_everything() -> None:
    def predicted(channels: int) -> api.Prediction:
        return api.predict(api.NetworkBuilder("n", Shape(16, 16, 4)).conv(channels, (3, 3)).dense(10).graph(), [F4])

    small, large = predicted(8), predicted(16)
    assert small.latency_s < large.latency_s
    assert small.boards[0].flash_bytes < large.boards[0].flash_bytes
    assert small.boards[0].ram_bytes < large.boards[0].ram_bytes


def test_what_fits_nowhere_says_why() -> None:
    graph = api.NetworkBuilder("large", Shape(64, 64, 64)).conv(64, (3, 3)).dense(64).graph()
    with pytest.raises(CheckFailedError, match=r"flash|RAM"):
        api.predict(graph, [G0])


@pytest.mark.parametrize("wrong", [{"bits": 12}, {"objective": "speed"}, {"baud": 10**9}])
def test_arguments_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        api.predict(api.load_model(MODEL), [F4], **wrong)
    with pytest.raises(UsageError):
        api.predict(api.load_model(MODEL), [])
