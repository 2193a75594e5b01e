"""Stages in a script: the results of the commands, as plain values."""

import json
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinysplit
from commands.command_line import run
from example_folders.example import CALIBRATION, MODEL
from tinysplit import api
from tinysplit.api.result import Result
from tinysplit.boards import board_files
from tinysplit.boards.catalog import load_board
from tinysplit.common import package_files
from tinysplit.common.errors import CheckFailedError, InputError, ToolError, UsageError
from tinysplit.network.layers import Shape
from tinysplit.network.sample_files import sample_source
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.split.problem import Objective

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
SPEEDS = ("spent_s", "explored")  # of a search, which differ from run to run


def check_plain(result: Result) -> None:
    data, rows = result.to_json(), result.to_rows()
    assert json.loads(json.dumps(data)) == data
    assert rows
    assert len({tuple(row) for row in rows}) == 1


def test_version() -> None:
    assert tinysplit.__version__ in run("--version")


def test_a_split_is_that_of_the_command(tmp_path: Path) -> None:
    lines: list[str] = []
    settings = api.CostSettings(baud=921_600, use_all=True)
    search = api.Search(copies=api.Copies.IF_BETTER, slices=api.Slices.NONE)
    found = api.split(str(MODEL), [G0, F4], settings, search, progress=lines.append)
    check_plain(found)
    options = ("--baud", "921600", "--use-all", "--slices", "none", "-o", str(tmp_path / "command.json"), "--json")
    printed = json.loads(run("split", str(MODEL), "-b", G0, "-b", F4, *options))
    assert printed["reasons"]["best_of_each_kind"]
    others = dict.fromkeys((*SPEEDS, "reasons"))  # the command alone tells why
    assert {**found.to_json(), **others} == {**printed, **others}
    assert lines[1] == "splitting tiny_cnn over nucleo_g071rb, nucleo_f401re ..."
    assert found.latency_s == pytest.approx(found.l_s + found.t_s, rel=0.04)  # and how inputs and tensors are taken
    assert found.l_s == pytest.approx(sum(layer.seconds for layer in found.layers))
    assert found.assignment == tuple(layer.board for layer in found.layers)
    assert {layer.board_name for layer in found.layers} == {G0, F4}


def test_a_split_file_is_written_and_those_of_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    found = api.split(MODEL, G0)
    found.write(path)
    found.write(path)
    assert json.loads(path.read_text())["assignment"] == [1] * 7
    path.write_text("mine")
    with pytest.raises(InputError, match="was not written by tinysplit"):
        found.write(path)


def test_given_and_divided_layers_and_copies() -> None:
    given = api.split(MODEL, [G0, G0], search=api.Search(assignment="1-4:1,5-7:2"))
    assert given.assignment == (1, 1, 1, 1, 2, 2, 2)
    graph = api.NetworkBuilder("n", Shape(24, 24, 8)).conv(16, (5, 5)).max_pool(4, 4).graph()
    divided = api.split(graph, [G0, G0], api.CostSettings(baud=3_000_000), api.Search(slices=api.Slices.ROWS))
    check_plain(divided)
    assert {layer.board for layer in divided.layers if layer.layer == 1} == {1, 2}
    copied = api.split(MODEL, [F4, F4], api.CostSettings(objective=api.Objective.THROUGHPUT))
    assert copied.copies == (1, 2)
    assert len(copied.layers) == 7


def test_boards_by_name_path_and_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_files, "_named", {})  # which boards were named by their path
    path = package_files.boards() / f"{G0}.toml"
    ways: list[Any] = [G0, [G0.upper()], path, [str(path)], load_board(G0), [api.load_board(path)]]
    assert len({api.predict(MODEL, way) for way in ways}) == 1
    with pytest.raises(UsageError, match="OSC_IN"):
        api.split(MODEL, G0, clock=api.ClockSource.HSE)
    with pytest.raises(UsageError, match="nearest: nucleo_g071rb"):
        api.predict(MODEL, "nucleo_g071")


def test_choices_may_be_text() -> None:
    as_text: Any = "throughput"
    found = api.split(MODEL, [F4], api.CostSettings(objective=as_text))
    assert found.file.objective is Objective.THROUGHPUT


def test_a_pareto_front(tmp_path: Path) -> None:
    front = api.pareto(MODEL, [G0, F4], api.SecondObjective.THROUGHPUT)
    check_plain(front)
    assert front.is_complete
    assert [point.latency_s for point in front.points] == sorted(point.latency_s for point in front.points)
    table = tmp_path / "costs.json"
    table.write_text("{}")
    for call in (
        lambda: api.pareto(MODEL, G0, api.SecondObjective.ENERGY, cost_table=table),
        lambda: api.split(MODEL, G0, cost_table=table),
    ):
        with pytest.raises(InputError, match=r"costs\.json: .* is missing: make a calibration"):
            call()


def test_a_pareto_front_has_divided_layers() -> None:
    fast = api.CostSettings(baud=4_000_000)
    whole, divided = (
        api.pareto(MODEL, [G0, G0], api.SecondObjective.ENERGY, fast, api.Search(slices=slices))
        for slices in (api.Slices.NONE, None)
    )
    assert divided.points[0].latency_s < whole.points[0].latency_s
    assert " by rows over boards 1 and 2" in divided.points[0].placement
    least_j, least_of_whole_j = ((front.points[-1].energy_j or 0.0) for front in (divided, whole))
    assert least_j <= least_of_whole_j * (1 + 1e-9)  # sums of floats in another order


def test_an_exploration_in_this_process(tmp_path: Path) -> None:
    lines: list[str] = []
    found = api.explore(
        MODEL, [G0, F4], api.ExploreSettings(bauds=[921_600]), journal=tmp_path / "journal.jsonl", progress=lines.append
    )
    check_plain(found)
    assert found.n_candidates == 5
    assert found.stopped is None
    assert lines[-1] == "5 of 5 candidates"
    assert found.sets[0].latency_s == min(each.latency_s for each in found.sets)
    cheapest = api.ExploreSettings(ranked_by=api.Ranked.PRICE, n_best=1, prices={G0: 9.0, F4: 12.0})
    ranked = api.explore([MODEL], [G0, F4], cheapest)
    check_plain(ranked)
    assert [(each.boards, each.price, each.baud) for each in ranked.sets] == [((G0,), 9.0, None)]
    with pytest.raises(CheckFailedError, match="none of 1 candidates is feasible"):
        api.explore(MODEL, G0, api.ExploreSettings(max_boards=1), api.CostSettings(max_latency_s=1e-6))


def test_an_exploration_needs_the_main_thread() -> None:
    errors: list[str] = []

    def explore() -> None:
        try:
            api.explore(MODEL, G0)
        except UsageError as error:
            errors.append(str(error))

    thread = Thread(target=explore)
    thread.start()
    thread.join()
    assert errors == ["explore handles Ctrl-C: call it in the main thread"]


def test_inputs_that_do_not_match(tmp_path: Path) -> None:
    found = api.split(MODEL, G0)
    with pytest.raises(InputError, match="x of the array has the shape 2x28x28, but the network wants Nx1x28x28"):
        api.generate(MODEL, found, np.zeros((2, 28, 28)), tmp_path / "out")
    found.write(tmp_path / "split.json")
    with pytest.raises(InputError, match=r"absent\.npz is missing"):
        api.generate(MODEL, tmp_path / "split.json", "absent.npz", tmp_path / "out")
    with pytest.raises(InputError, match="not a generated folder"):
        api.build(tmp_path)
    with pytest.raises(UsageError, match="has its own labels"):
        api.measure(tmp_path, CALIBRATION, labels=np.zeros(100))
    with pytest.raises(UsageError, match="max_time_increase has to be finite"):
        api.generate(MODEL, found, np.zeros((2, 1, 28, 28)), tmp_path / "out", max_time_increase=np.inf)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (np.zeros(3, int), "the array of labels has the shape 3, but x holds 2 samples"),
        ({"classes": np.zeros(2, int)}, "labels of 'classes': tiny_cnn has no such output, but logits: name labels as"),
        ({"logits": np.zeros(2)}, "the array of labels has elements of type float64"),
    ],
)
def test_labels_that_do_not_match(labels: Any, text: str) -> None:  # noqa: ANN401 - an array, or a dict of them
    source = sample_source(np.zeros((2, 1, 28, 28)), labels)
    with pytest.raises(InputError, match=text):
        load_samples(source, import_model(Path(MODEL)))


def test_frames_of_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    found = api.predict(MODEL, [G0, F4])
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda rows: ("frame", rows)))
    assert found.to_frame() == ("frame", found.to_rows())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ToolError, match=r"-m pip install pandas$"):
        found.to_frame()
