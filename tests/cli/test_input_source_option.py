"""`--input-source`: who knows it, where it is stored and printed, and what contradicts it."""

import json
from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders.example import CALIBRATION, MODEL
from tinysplit import api
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import UsageError
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import read_split

G0, H7 = "nucleo_g071rb", "nucleo_h743zi"
INPUT_BYTES = 28 * 28
BOARD = ("--input-source", "board")
THROUGHPUT = ("--objective", "throughput")


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def split_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("split") / "split.json")
    printed = flat(run("split", str(MODEL), "-b", H7, *BOARD, *THROUGHPUT, "-o", path))
    assert "(estimated), input from the board bottleneck: the host's port of board 1 (nucleo_h743zi), where" in printed
    return path


def test_a_board_that_is_faster_than_the_port(split_file: str, tmp_path: Path) -> None:
    own = read_split(Path(split_file))
    path = str(tmp_path / "split.json")
    printed = flat(run("split", str(MODEL), "-b", H7, *THROUGHPUT, "-o", path))
    assert "(estimated), input from the host's port bottleneck: the host's port of board 1" in printed
    fed = read_split(Path(path))
    assert (own.input_source, fed.input_source) == (api.InputSource.BOARD, api.InputSource.HOST)
    assert own.figures.period_s < 0.25 * fed.figures.period_s
    board = load_board(H7)
    start_s = shipped_table().handoff[board.device.family].started(INPUT_BYTES) / board.clock.core_hz
    assert pytest.approx(own.figures.I + start_s) == fed.figures.I  # START and the CRC, of an input that it checks


def test_later_commands_take_it_from_the_split(split_file: str, tmp_path: Path) -> None:
    arguments = ("arrivals", str(MODEL), "--split", split_file, "--frame-rate", "500", "--input-count", "9")
    assert "input from the board" in flat(run(*arguments))
    own, fed = (json.loads(run(*arguments, *more, "--json")) for more in ((), ("--input-source", "host")))
    assert (own["figures"]["input_source"], fed["figures"]["input_source"]) == ("board", "host")
    waiting = [each["placements"]["split"]["max_waiting_s"] for each in (own, fed)]
    assert waiting[0] == 0 < waiting[1]
    scripted = api.arrivals(MODEL, split_file, 500, input_count=9, input_source=api.InputSource.HOST)
    assert scripted.to_json() == fed
    out = tmp_path / "out"
    generated = flat(run("generate", str(MODEL), "--split", split_file, "-s", str(CALIBRATION), "-o", str(out)))
    assert "input from the board" in generated
    assert Project.read(out).input_source is api.InputSource.BOARD


def test_a_front_and_an_exploration_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("explore", str(MODEL), "-b", H7, *THROUGHPUT, "--max-boards", "1", "--json")
    fed, own = (json.loads(run(*arguments, *more)) for more in ((), BOARD))
    assert (fed["input_source"], own["input_source"]) == ("host", "board")
    periods_s = [each["rankings"][0]["best"][0]["period_s"] for each in (own, fed)]
    assert periods_s[0] < 0.25 * periods_s[1]
    assert "(simulated), input from the board" in flat(run(*arguments[:-1], *BOARD))
    front = ("pareto", str(MODEL), "-b", H7, "--second-objective", "throughput", *BOARD)
    assert "the front is complete input from the board" in flat(run(*front))


def test_what_it_contradicts(split_file: str, tmp_path: Path) -> None:
    splitting = ("split", str(MODEL), "-b", H7, "-o", str(tmp_path / "s.json"))
    assert "--input-source board out" in run(*splitting, "--paper", *BOARD, expect=USAGE)
    generating = ("generate", str(MODEL), "--split", split_file, "-s", str(CALIBRATION), "-o", str(tmp_path / "out"))
    mlperf = ("--host-protocol", "mlperf", "--mlperf-model", "x")
    error = run(*generating, *mlperf, expect=USAGE)
    assert error.endswith("mlperf brings inputs over the host's port: split with --input-source host")


def test_a_source_that_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = run("split", str(MODEL), "-b", H7, "--input-source", "sensor", expect=USAGE)
    assert "'sensor' is not one of 'host', 'board'" in flat(error)
    Path("tinysplit.toml").write_text('input-source = "sensor"\n')
    assert "input-source has to be host or board" in run("split", str(MODEL), "-b", H7, expect=BAD_INPUT)
    with pytest.raises(UsageError, match="input_source"):
        api.predict(MODEL, H7, input_source="sensor")  # type: ignore[arg-type]
    assert api.predict(MODEL, H7, input_source="board").period_s > 0  # type: ignore[arg-type]
