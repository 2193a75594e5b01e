"""What functions for scripts refuse: one line that names the argument and what it takes."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from example_folders.example import MODEL
from tinysplit import api
from tinysplit.common.errors import InputError, UsageError

G0 = "nucleo_g071rb"
LINK = api.LinkSetting((1, 2), 9600)
script: Any = api  # wrong types are given on purpose
Call = Callable[[], object]


def costs(**values: object) -> Call:
    return lambda: script.split(MODEL, G0, api.CostSettings(**values))  # type: ignore[arg-type]


def search(**values: object) -> Call:
    return lambda: script.split(MODEL, G0, search=api.Search(**values))  # type: ignore[arg-type]


def exploring(**values: object) -> Call:
    return lambda: script.explore(MODEL, G0, api.ExploreSettings(**values))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: script.split(MODEL), "split: missing a required argument: 'boards'"),
        (lambda: script.split(MODEL, G0, baud=9600), "split: got an unexpected keyword argument 'baud'"),
        (lambda: script.split(MODEL, G0, {"baud": 9600}), "split: settings has to be a CostSettings, not of type dict"),
        (lambda: script.split(MODEL, G0, search=9), "split: search has to be a Search, not 9"),
        (
            lambda: script.split(None, G0),
            "model has to be the path of an ONNX or .tflite file, or what load_.*, not None",
        ),
        (lambda: script.split(MODEL, 2), "boards has to be a board, or a list of boards: .*, not 2"),
        (lambda: script.split(MODEL, [G0, None]), "boards has to be a board, or a list of boards: .* of type list"),
        (lambda: script.split(MODEL, []), "boards are needed"),
        (lambda: script.split(MODEL, G0, clock="quartz"), "clock has to be 'hsi' or 'hse', not 'quartz'"),
        (lambda: script.split(MODEL, G0, progress="yes"), "progress has to be a function, not 'yes'"),
        (lambda: script.load_model(None), "load_model: path has to be the path of an ONNX or .tflite file, not None"),
        (lambda: script.load_board([G0]), "load_board: board has to be a name, a path, or .*, not of type list"),
        (lambda: script.predict(MODEL, G0, bits="auto"), "predict: bits has to be a whole number, not 'auto'"),
        (lambda: script.predict(MODEL, G0, time_limit_s=0), "time_limit_s has to be more than 0, not 0"),
        (
            lambda: script.generate(SimpleNamespace(), "s", "c", "o"),
            "model has to be the path of an ONNX or .tflite file, not of",
        ),
        (
            lambda: script.generate(MODEL, api.load_model(MODEL), "c", "o"),
            "split has to be what split .* Graph",
        ),
        (lambda: script.generate(MODEL, "s", "c", None), "generate: out has to be a path, not None"),
        (
            lambda: script.generate(MODEL, "s", 3, "o"),
            "calibration has to be an array, a dict of arrays",
        ),
        (lambda: script.generate(MODEL, "s", "c", "o", calibration_count=0), "calibration_count has to be at least 1"),
        (lambda: script.build(None), "build: folder has to be a path, not None"),
        (lambda: script.measure("out", "s", {}), "measure: settings has to be a MeasureSettings, not of type dict"),
        (
            lambda: script.measure("out", "s", api.MeasureSettings(sample_count=0)),
            "settings.sample_count has to be ",
        ),
        (lambda: script.explore(3), "models has to be a network, or a list of networks: .*, not 3"),
        (lambda: script.explore(MODEL, G0, workers=0), "workers has to be at least 1, not 0"),
        (costs(baud="auto"), "settings.baud has to be a whole number, not 'auto'"),
        (costs(baud=-1), "settings.baud has to be at least 1, not -1"),
        (costs(bits=12), "settings.bits has to be 8 or 16, not 12"),
        (costs(objective="speed"), "settings.objective has to be 'latency', 'throughput' or 'energy', not 'speed'"),
        (costs(max_latency_s=float("nan")), "split: settings.max_latency_s has to be a number, not nan"),
        (costs(use_all="maybe"), "settings.use_all has to be true or false"),
        (costs(links=921_600), "settings.links has to be a list"),
        (search(time_limit_s=-1), "search.time_limit_s has to be more than 0, not -1"),
        (search(solver="fast"), "unknown solver 'fast'"),
        (search(input_board=2), "input_board 2: the number of boards is 1"),
        (search(input_board=0), "search.input_board has to be at least 1, not 0"),
        (costs(kernels=[(99, "planes")]), "kernel names layer 99, but tiny_cnn has 7 layers"),
        (costs(kernels=[(1, "foo")]), "layer 1 .* has no kernel foo on these boards"),
        (costs(kernels=[(0, "direct")]), "settings: kernels: layers count from 1, not 0"),
        (costs(links=[{"boards": (0, 1), "baud": 9600}]), "settings: links: boards count from 1, and differ, not 0, 1"),
        (costs(links=[{"boards": (1, 2), "baud": 9600}]), "links has boards 1, 2: the number of boards is 1"),
        (search(slices="diagonal"), "search.slices has to be 'auto', 'none', 'channels' or 'rows', not 'diagonal'"),
        (exploring(axes="latency"), "exploring.axes has to be a list, not 'latency'"),
        (exploring(axes=["beauty"]), "exploring.axes 1 has to be 'latency', .*, not 'beauty'"),
        (exploring(bauds=921_600), "exploring.bauds has to be a list, not 921600"),
        (exploring(bits=[]), "exploring.bits needs 1 or more entries$"),
        (lambda: script.explore([], G0), "models is empty: name a network"),
        (exploring(bits=(8, 12)), "exploring.bits 2 has to be 8 or 16, not 12"),
        (exploring(max_boards=0), "exploring.max_boards has to be at least 1, not 0"),
        (exploring(max_boards=99), "max_boards 99: a split has at most"),
        (exploring(total_time_s=-1), "exploring.total_time_s has to be more than 0"),
        (exploring(prices=9.0), "exploring.prices has to be a dict of prices by board, or the path of a TOML file"),
    ],
)
def test_arguments_that_make_no_sense(call: Call, text: str) -> None:
    with pytest.raises(UsageError, match=text) as error:
        call()
    assert "--" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("prices", "text"),
    [
        ({G0: "3"}, f"prices has the price '3' for {G0}: a price is a number of at least 0"),
        ({G0: -3}, f"prices has the price -3 for {G0}"),
        ({"foo": 3}, f"prices has no price for {G0}: add one, as in `{G0} = 11.20`"),
    ],
)
def test_prices_that_make_no_sense(prices: dict[str, float], text: str) -> None:
    with pytest.raises(InputError, match=text):
        api.explore(MODEL, G0, api.ExploreSettings(prices=prices))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (costs(baud=True), "split: settings.baud has to be a whole number, not True"),
        (costs(baud="9600"), "split: settings.baud has to be a whole number, not '9600'"),
        (costs(baud=np.bool_(True)), "split: settings.baud has to be a whole number, not True"),
        (costs(bits="auto"), "settings.bits has to be a whole number, not 'auto': give `generate` a goal for mixed"),
        (costs(use_all=1), "settings.use_all has to be true or false, not 1"),
        (costs(max_latency_s="1"), "settings.max_latency_s has to be a number, not '1'"),
        (costs(max_energy_j=False), "settings.max_energy_j has to be a number, not False"),
        (costs(kernels=((True, "direct"),)), "settings.kernels 1 1 has to be a whole number, not True"),
        (costs(kernels=((1, "direct"), (1, "packed"))), "kernel 1=direct: layer 1 is named twice"),
        (costs(links=[api.LinkSetting((1, 2), True)]), "settings.links 1, baud has to be a whole number, not True"),
        (costs(links=[api.LinkSetting((1, 2), 0)]), "settings.links 1, baud has to be at least 1, not 0"),
        (costs(links=[{"boards": (1, 2), "baud": "x"}]), "settings.links 1, baud has to be a whole number, not 'x'"),
        (
            lambda: script.split(MODEL, [G0, G0], api.CostSettings(links=(LINK, LINK))),
            "links names the boards 1-2 more than once",
        ),
        (lambda: script.LinkSetting(board=(1, 2)), "LinkSetting has no field board: did you mean boards[?]"),
        (lambda: script.LinkSetting((1, 2)), "LinkSetting missing 1 required positional argument: 'baud'"),
        (lambda: script.CostSettings(bauds=9600), "CostSettings has no field bauds: did you mean baud[?]"),
        (lambda: script.Search(9), "Search takes 1 positional argument but 2 were given"),
        (lambda: script.MeasureSettings(samples=3), "MeasureSettings has no field samples"),
        (lambda: script.ExploreSettings(boards=3), "ExploreSettings has no field boards: did you mean max_boards[?]"),
        (lambda: script.Goal(drop=3), "Goal has no field drop: did you mean max_drop[?]"),
        (lambda: script.split("", G0), "split: model has to be the path of an ONNX or .tflite file, .*, not ''"),
        (lambda: script.split(MODEL, [G0, ""]), "split: boards has to be a board, or a list of boards"),
        (lambda: script.build(""), "build: folder has to be a path, not ''"),
        (lambda: script.generate(MODEL, "s", "c", "o", force=1), "generate: force has to be true or false, not 1"),
        (lambda: script.generate(MODEL, "s", "c", "o", goal=8), "generate: goal has to be a Goal, not 8"),
        (
            lambda: script.generate(MODEL, "s", "c", "o", goal=api.Goal(max_drop=-1)),
            "generate: goal.max_drop has to be at least 0, not -1",
        ),
        (lambda: script.explore(MODEL, G0, workers=True), "explore: workers has to be a whole number, not True"),
        (exploring(bauds=[True]), "explore: exploring.bauds 1 has to be a whole number, not True"),
    ],
)
def test_numbers_and_fields_are_strict(call: Call, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (search(time_limit_s=float("inf")), "time_limit_s inf: expected a number of seconds above zero"),
        (search(slice_solver="exact", slices="none"), 'solver exact divides layers, which slices="none" excludes'),
        (search(assignment="1-7:1", slices="rows"), "assignment 1-7:1: nothing is searched for: leave slices out"),
        (search(solver="highs"), "solver highs is now auto, the one exact search"),
        (search(assignment="1-7:1", copies="always"), "leave copies=Copies.ALWAYS out"),
        (costs(bits_per_byte=13), "settings.bits_per_byte has to be at most 12, not 13"),
        (
            costs(cost_model="santamaria-2021", host_transfers=True),
            "paper has 8 bit times per byte, equal links and no host transfers",
        ),
        (
            lambda: script.measure("out", "s", api.MeasureSettings(rig="rig.toml", has_ideal_memory=True)),
            "has_ideal_memory is for virtual boards: leave has_ideal_memory out with rig rig.toml",
        ),
        (exploring(axes=["latency"], ranked_by="energy"), "axes is one of a Pareto front, ranked_by asks for a rank"),
    ],
)
def test_settings_contradict_each_other_as_options_do(call: Call, text: str) -> None:
    with pytest.raises(UsageError, match=text) as error:
        call()
    assert "--" not in str(error.value)


def test_scalars_of_numpy_are_numbers() -> None:
    boards, link = [G0, G0], api.LinkSetting((1, 2), np.int32(9600))  # type: ignore[arg-type]
    given: Any = {
        "baud": np.int64(921_600),
        "max_latency_s": np.float32(2),
        "use_all": np.bool_(True),
        "links": (link,),
    }
    found = api.split(MODEL, boards, api.CostSettings(**given))
    plain = api.CostSettings(baud=921_600, max_latency_s=2, use_all=True, links=(LINK,))
    assert found.to_json() | {"spent_s": 0} == api.split(MODEL, boards, plain).to_json() | {"spent_s": 0}


def test_layers_and_boards_count_from_one() -> None:
    boards = [G0, G0]
    whole = api.Search(slices=api.Slices.NONE)
    plain = api.split(MODEL, boards, api.CostSettings(use_all=True), whole)
    slow = api.CostSettings(use_all=True, links=[{"boards": (2, 1), "baud": 9600}])  # type: ignore[arg-type]
    assert api.split(MODEL, boards, slow, whole).t_s > 2 * plain.t_s
    direct = api.split(MODEL, G0, api.CostSettings(kernels=((1, "direct"),)))
    assert direct.layers[0].seconds > plain.layers[0].seconds
    assert direct.layers[2].seconds == pytest.approx(plain.layers[2].seconds)


def test_lists_of_different_lengths_are_no_samples(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the samples are no array: give lists of the same length"):
        api.generate(MODEL, api.split(MODEL, G0), [[1], [2, 3]], tmp_path / "out")  # type: ignore[arg-type]


def test_messages_name_arguments(tmp_path: Path) -> None:
    found = api.split(MODEL, G0)
    (tmp_path / "split.json").write_text("mine")
    with pytest.raises(InputError, match=r"name another file, or overwrite with force=True$"):
        found.write(tmp_path / "split.json")
    np.savez(tmp_path / "other.npz", pictures=np.zeros((1, 1, 28, 28)))
    with pytest.raises(InputError, match=r"give that array itself$"):
        api.generate(MODEL, found, tmp_path / "other.npz", tmp_path / "out")


def test_all_types_of_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    board = api.load_board(G0)
    monkeypatch.setattr("tinysplit.api.exploring.load_boards", lambda: (board,))
    one = api.ExploreSettings(max_boards=1)
    assert [api.explore(MODEL, boards, one).n_candidates for boards in (None, "all", ["all"])] == [1, 1, 1]
