"""Every command on the example, and what a user can get wrong: one line, the right exit code, no leftovers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, CHECK_FAILED, TOOL, USAGE, run
from example_folders import example
from tinysplit.boards.board_files import board_names
from tinysplit.cli.app import app
from tinysplit.common.choices import OLD_SOLVERS

MODEL, CALIBRATION = str(example.MODEL), str(example.CALIBRATION)
TWO_G0 = ("--board", "nucleo_g071rb", "--board", "nucleo_g071rb")
SHARED = (*TWO_G0, "--use-all")


@pytest.fixture(scope="module")
def split_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("split") / "split.json"
    run("split", MODEL, *SHARED, "-o", str(path))
    return path


def test_boards_json_lists_all_boards() -> None:
    boards = json.loads(run("boards", "--json"))["boards"]
    assert sorted(board["name"] for board in boards) == sorted(board_names())


def test_analyze_json_counts_the_example() -> None:
    totals = json.loads(run("analyze", MODEL, "--json"))["totals"]
    assert (totals["depth"], totals["macc"], totals["weights_bytes"]) == (7, 809_146, 19_162 * 4)


def test_split_json_is_the_file(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    printed = json.loads(run("split", MODEL, *TWO_G0, "--slices", "none", "-o", str(path), "--json"))
    assert printed == json.loads(path.read_text())
    assert printed["proved"]


def test_the_solver_that_is_the_default_may_be_named(tmp_path: Path) -> None:
    options = ("--slices", "none", "--solver", "auto", "-o", str(tmp_path / "s.json"))
    printed = json.loads(run("split", MODEL, *SHARED, *options, "--json"))
    assert printed["assignment"] == [1, 1, 1, 1, 1, 1, 2]
    assert printed["solver"] == "labels"


@pytest.mark.parametrize("solver", OLD_SOLVERS)
def test_old_names_of_solvers_say_what_replaced_them(solver: str, tmp_path: Path) -> None:
    told = run("split", MODEL, *SHARED, "--solver", solver, "-o", str(tmp_path / "s.json"), expect=2)
    assert f"solver {solver} is now auto, the one exact search for every network and objective" in told


@pytest.mark.parametrize("period", ["load", "span", "paper", "old"])
def test_throughput(period: str, tmp_path: Path) -> None:
    options = ("--objective", "throughput", "--period", period, "--max-latency", "3", "-o", str(tmp_path / "s.json"))
    printed = json.loads(run("split", MODEL, *SHARED, *options, "--json"))
    assert (printed["objective"], printed["period_definition"]) == ("throughput", period)
    assert (printed["max_latency_s"], printed["max_period_s"]) == (3.0, None)
    figures = printed["figures"]
    assert figures["throughput"] == pytest.approx(1 / figures["period_s"])
    assert figures["lower_bound"] == pytest.approx(figures["period_s"])
    assert figures["period_s"] <= figures["I"] <= 3


def test_copies_that_win_are_named(tmp_path: Path) -> None:
    options = ("--objective", "throughput", "--no-replicate", "--slices", "none", "-o", str(tmp_path / "s.json"))
    result = CliRunner().invoke(app, ["split", MODEL, *TWO_G0, *options])
    assert result.exit_code == 0
    assert (
        "note: replicating the whole network on board 1 (nucleo_g071rb) and board 2 (nucleo_g071rb), with"
        in result.stderr
    )
    assert "outputs per second (estimated)" in " ".join(result.stdout.split())


def test_copies_that_win_are_the_answer(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["split", MODEL, *TWO_G0, "--objective", "throughput", "-o", str(tmp_path / "s.json"), "--json"]
    )
    assert result.exit_code == 0
    assert "note" not in result.stderr
    printed = json.loads(result.stdout)
    assert (printed["copies"], printed["solver"]) == ([1, 2], "copies")
    assert 0 < printed["figures"]["lower_bound"] <= printed["figures"]["period_s"]
    one = CliRunner().invoke(
        app, ["split", MODEL, *TWO_G0[:2], "--objective", "throughput", "-o", str(tmp_path / "1.json"), "--json"]
    )
    half_s = json.loads(one.stdout)["figures"]["period_s"] / 2
    assert printed["figures"]["period_s"] == pytest.approx(half_s, rel=1e-9)


def test_replication_on_demand(tmp_path: Path) -> None:
    arguments = ["split", MODEL, *TWO_G0, "--objective", "energy", "--replicate", "-o", str(tmp_path / "s.json")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert "copies on boards 1 and 2" in result.stdout
    for more, code, says in (("--paper", 2, "cannot be combined with --replicate"), ("--max-latency=1e-6", 1, "omit")):
        refused = CliRunner().invoke(app, [*arguments, more])
        assert refused.exit_code == code
        assert says in refused.stderr


def test_limits_out_of_reach(tmp_path: Path) -> None:
    for option, says in (
        ("--max-latency", "no split meets the latency limit of 1 ms"),
        ("--max-period", "no split meets the period limit of"),
    ):
        line = run("split", MODEL, *TWO_G0, option, "0.001", "-o", str(tmp_path / "s.json"), expect=CHECK_FAILED)
        assert says in line
        assert not (tmp_path / "s.json").exists()


def test_one_board_alone_is_enough_where_boards_may_be_left_out(tmp_path: Path) -> None:
    path = str(tmp_path / "s.json")
    printed = json.loads(run("split", MODEL, *TWO_G0, "--slices", "none", "-o", path, "--json"))
    assert printed["figures"]["T"] == 0
    assert len(set(printed["assignment"])) == 1


def not_onnx(folder: Path) -> str:
    path = folder / "model.onnx"
    path.write_bytes(b"this is no protobuf")
    return str(path)


def unsupported_operator(folder: Path) -> str:
    return one_node(folder, helper.make_node("Sinh", ["x"], ["y"], name="odd_one"), ("N", 1, 4, 4))


def dynamic_shape(folder: Path) -> str:
    return one_node(folder, helper.make_node("Relu", ["x"], ["y"], name="relu"), ("N", 1, "height", 4))


def one_node(folder: Path, node: onnx.NodeProto, shape: tuple[str | int, ...]) -> str:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y"))
    model = helper.make_model(helper.make_graph([node], "one", [x], [y]), opset_imports=[helper.make_opsetid("", 13)])
    path = folder / "model.onnx"
    onnx.save(model, path)
    return str(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: "missing.onnx", ["missing.onnx"]),
        (not_onnx, ["model.onnx", "ONNX"]),
        (unsupported_operator, ["Sinh", "odd_one", "1x1x4x4", "`tinysplit operators`"]),
        (dynamic_shape, ["height"]),
    ],
)
def test_a_model_that_cannot_be_used(make: Callable[[Path], str], words: list[str], tmp_path: Path) -> None:
    out = tmp_path / "split.json"
    line = run("split", make(tmp_path), *TWO_G0, "-o", str(out), expect=BAD_INPUT)
    assert all(word in line for word in words), line
    assert not out.exists()


def samples(folder: Path, arrays: dict[str, Any]) -> str:
    path = folder / "samples.npz"
    np.savez(path, **arrays)
    return str(path)


X = np.zeros((3, 1, 28, 28), np.float32)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros((3, 1, 27, 28), np.float32)}, ["1x27x28", "1x28x28"]),
        ({"x": np.full_like(X, np.nan)}, ["NaN"]),
        ({"x": X[:0]}, ["no sample"]),
        ({"x": X, "y": np.zeros(2, np.int64)}, ["2", "3"]),
        ({"images": X}, ["'x'", "images"]),
    ],
)
def test_samples_that_cannot_be_used(
    arrays: dict[str, np.ndarray], words: list[str], split_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    path = samples(tmp_path, arrays)
    line = run("generate", MODEL, "--split", str(split_file), "-s", path, "-o", str(out), expect=BAD_INPUT)
    assert all(word in line for word in words), line
    assert not out.exists()


def test_an_unknown_board_gets_the_nearest_names(tmp_path: Path) -> None:
    line = run("split", MODEL, "-b", "nucleo_g071rx", "-o", str(tmp_path / "s.json"), expect=USAGE)
    assert "nucleo_g071rb" in line


def test_a_baud_rate_that_no_clock_makes(tmp_path: Path) -> None:
    line = run("split", MODEL, *TWO_G0, "--baud", "30000000", "-o", str(tmp_path / "s.json"), expect=USAGE)
    assert "30000000" in line
    assert "nucleo_g071rb" in line


def test_odd_bits(tmp_path: Path) -> None:
    assert "8 or 16" in run("split", MODEL, *TWO_G0, "--bits", "12", "-o", str(tmp_path / "s.json"), expect=USAGE)


def test_a_split_for_other_bits(split_file: Path, tmp_path: Path) -> None:
    arguments = ("--split", str(split_file), "-s", CALIBRATION, "--bits", "16", "-o", str(tmp_path / "out"))
    assert "8 bits, not 16" in run("generate", MODEL, *arguments, expect=USAGE)


def test_a_split_for_another_model(split_file: Path, tmp_path: Path) -> None:
    model = onnx.load(MODEL)
    model.doc_string = "another file"
    other = tmp_path / "other.onnx"
    onnx.save(model, other)
    arguments = ("--split", str(split_file), "-s", CALIBRATION, "-o", str(tmp_path / "out"))
    line = run("generate", str(other), *arguments, expect=BAD_INPUT)
    assert "another model" in line
    assert line.count("(") >= 2  # both hashes


def test_a_folder_that_holds_something_else(split_file: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    arguments = ("--split", str(split_file), "-s", CALIBRATION, "-o", str(tmp_path))
    assert "contains files that were not generated" in run("generate", MODEL, *arguments, expect=BAD_INPUT)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_network_that_fits_nowhere(tmp_path: Path) -> None:
    weights = helper.make_tensor(
        "w", TensorProto.FLOAT, (4000, 4000), np.zeros(16_000_000, np.float32).tobytes(), raw=True
    )
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="huge")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ("N", 4000)) for name in ("x", "y"))
    model = helper.make_model(
        helper.make_graph([node], "huge", [x], [y], [weights]), opset_imports=[helper.make_opsetid("", 13)]
    )
    path = tmp_path / "huge.onnx"
    onnx.save(model, path)
    line = run("split", str(path), "-b", "nucleo_g071rb", "-o", str(tmp_path / "s.json"), expect=CHECK_FAILED)
    assert "flash" in line
    assert "the smallest shortfall is" in line
    assert "board 1 (nucleo_g071rb)" in line


def test_a_folder_that_was_not_generated(tmp_path: Path) -> None:
    assert "tinysplit.json" in run("build", str(tmp_path), expect=BAD_INPUT)
    assert "tinysplit.json" in run("measure", str(tmp_path), "-s", CALIBRATION, expect=BAD_INPUT)


def test_a_missing_compiler(split_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = str(tmp_path / "out")
    run("generate", MODEL, "--split", str(split_file), "-s", CALIBRATION, "-o", out)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "arm-none-eabi-gcc" in run("build", out, expect=TOOL)


def test_measuring_before_building(split_file: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    run("generate", MODEL, "--split", str(split_file), "-s", CALIBRATION, "-o", out)
    assert "tinysplit build" in run("measure", out, "-s", CALIBRATION, expect=BAD_INPUT)
