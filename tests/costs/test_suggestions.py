"""What would make a problem feasible: true, and not less than is needed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from models.networks import tiny_cnn
from session.fake_clock import fake_clock
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Optimize
from tinysplit.common.errors import CheckFailedError
from tinysplit.context import Context
from tinysplit.costs import suggestions as module
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.suggestions import sufficient_changes
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.papers.reproduce.networks import mobilenet_v1, yamnet_256
from tinysplit.pipeline import split_network
from tinysplit.settings.costs import OPTIMIZE
from tinysplit.slices.settings import Search
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Problem
from tinysplit.split.solve import solve

QUIET = Console(quiet=True)


@pytest.fixture(autouse=True)
def _slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time limits count work: a busy machine explains as much as an idle one."""
    fake_clock(monkeypatch, tick_s=1e-4)


def shrunk(monkeypatch: pytest.MonkeyPatch, flash_bytes: int, ram_bytes: int) -> Graph:
    """Return a network after every board was left with so much memory for layers."""
    real = make_problem

    def small(*arguments: object) -> Problem:
        problem = real(*arguments)  # type: ignore[arg-type]
        devices = (replace(device, flash_bytes=flash_bytes, ram_bytes=ram_bytes) for device in problem.devices)
        return replace(problem, devices=tuple(devices))

    monkeypatch.setattr(module, "make_problem", small)
    return tiny_cnn()


def boards(count: int) -> list[Board]:
    return [load_board("nucleo_g071rb")] * count


def context(graph: Graph, boards: list[Board], settings: CostSettings) -> Context:
    return Context(
        model=Path("unused.onnx"),
        graph=graph,
        boards=tuple(boards),
        table=shipped_table(),
        settings=settings,
        messages=QUIET,
    )


def test_one_more_board_or_just_enough_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = make_problem(shipped_table(), tiny_cnn(), boards(1), CostSettings()).layers
    largest, total = (f([layer.flash_bytes[0] for layer in layers]) for f in (max, sum))
    graph = shrunk(monkeypatch, largest, 32000)
    text = sufficient_changes(shipped_table(), graph, boards(1), CostSettings())
    assert "1 more nucleo_g071rb" in text
    kilobytes = -(-(total - largest) // 1024)
    assert f"{kilobytes} KB more flash on board 1 (nucleo_g071rb)" in text


def test_two_more_boards_where_one_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three boards with 0.42 of the flash each hold it, two do not."""
    graph = Graph.of_layers("features", mobilenet_v1(0.25).layers[:20])
    layers = make_problem(shipped_table(), graph, boards(1), CostSettings(optimize=Optimize.FLASH)).layers
    total = sum(layer.flash_bytes[0] for layer in layers)
    shrunk(monkeypatch, int(0.42 * total), 10**6)
    assert "2 more nucleo_g071rb" in sufficient_changes(shipped_table(), graph, boards(1), CostSettings())


def test_just_enough_ram(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = make_problem(shipped_table(), tiny_cnn(), boards(2), CostSettings()).layers
    needed = max(layer.ram_bytes[0] for layer in layers)
    graph = shrunk(monkeypatch, 100_000, needed - 100)
    text = sufficient_changes(shipped_table(), graph, boards(2), CostSettings())
    assert "more nucleo_g071rb" not in text, "another board is as small"
    assert "100 bytes more RAM on board 1 (nucleo_g071rb)" in text
    assert "100 bytes more RAM on board 2 (nucleo_g071rb)" in text
    assert "KB more flash" not in text


def test_smaller_kernels_where_these_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    small = CostSettings(optimize=Optimize.FLASH)
    fast_bytes, small_bytes = (
        sum(layer.flash_bytes[0] for layer in make_problem(shipped_table(), tiny_cnn(), boards(1), settings).layers)
        for settings in (CostSettings(), small)
    )
    assert small_bytes < fast_bytes
    graph = shrunk(monkeypatch, small_bytes, 32000)
    assert sufficient_changes(shipped_table(), graph, boards(1), CostSettings()).startswith(
        f"; sufficient: {OPTIMIZE} flash, or "
    )
    graph = shrunk(monkeypatch, small_bytes - 1, 32000)
    assert str(OPTIMIZE) not in sufficient_changes(shipped_table(), graph, boards(1), CostSettings())
    assert str(OPTIMIZE) not in sufficient_changes(shipped_table(), graph, boards(1), small)


def test_both_memories_where_neither_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = make_problem(shipped_table(), tiny_cnn(), boards(1), CostSettings()).layers
    flash, ram = sum(layer.flash_bytes[0] for layer in layers), max(layer.ram_bytes[0] for layer in layers)
    graph = shrunk(monkeypatch, flash - 1024, ram - 40)
    text = sufficient_changes(shipped_table(), graph, boards(1), CostSettings())
    assert text == "; sufficient: 1 KB more flash and 40 bytes more RAM on board 1 (nucleo_g071rb)"


def test_only_verified_changes_are_suggested() -> None:
    """No number of boards and no memory makes a board answer in a microsecond."""
    assert sufficient_changes(shipped_table(), tiny_cnn(), boards(1), CostSettings(max_latency_s=1e-6)) == ""


def test_one_more_board_may_keep_a_limit() -> None:
    alone_s = evaluate(make_problem(shipped_table(), tiny_cnn(), boards(1), CostSettings()), (0,) * 7).l_s
    settings = CostSettings(max_period_s=alone_s * 0.9, baud=2_000_000)
    with pytest.raises(CheckFailedError, match=r"no split meets the period limit of .* ms.*1 more nucleo_g071rb"):
        split_network(context(tiny_cnn(), boards(1), settings), Search())


@pytest.mark.parametrize(
    ("graph", "name"),
    [(mobilenet_v1(0.25), "nucleo_l433rc_p"), (yamnet_256(), "nucleo_l412kb")],
    ids=["mobilenet", "yamnet"],
)
def test_more_boards_are_really_enough(graph: Graph, name: str) -> None:
    board = load_board(name)
    with pytest.raises(CheckFailedError) as caught:
        split_network(context(graph, [board], CostSettings()), Search())
    found = re.search(rf"(one|\d) more {name}", str(caught.value))
    if found:
        count = 1 if found[1] == "one" else int(found[1])
        problem = make_problem(shipped_table(), graph, [board] * (count + 1), CostSettings())
        assert evaluate(problem, solve(problem).assignment).is_feasible
    assert "\n" not in str(caught.value)
