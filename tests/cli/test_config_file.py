"""The config file: written by `init`, read by the commands, and never stronger than the command line."""

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders.example import MODEL, SAMPLES
from tinysplit.boards import board_files
from tinysplit.cli.app import _COMMANDS, imported_command
from tinysplit.cli.config.command import CONFIG_NAME, ConfiguredCommand
from tinysplit.cli.config.file import read_config
from tinysplit.cli.config.init import config_text
from tinysplit.cli.config.keys import keys, keys_of
from tinysplit.project.split_file import read_split

BOARD = "nucleo_g071rb"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "config_file.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new current folder with a network."""
    monkeypatch.setattr(board_files, "_named", {})
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODEL, tmp_path / "net.onnx")
    return tmp_path


def write(folder: Path, *lines: str) -> Path:
    path = folder / CONFIG_NAME
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    return path


def configured_commands() -> list[Any]:
    commands = [imported_command(name) for name in _COMMANDS]
    each = [sub for command in commands for sub in getattr(command, "commands", {"": command}).values()]
    return [command for command in each if isinstance(command, ConfiguredCommand)]


def test_the_command_line_wins(folder: Path) -> None:
    write(folder, 'model = "missing.onnx"', f'board = ["{BOARD}"]', "bits = 16")
    run("split", "net.onnx", "--bits", "8")
    assert read_split(folder / "split.json").bits == 8


def test_a_file_beside_the_model_is_found_and_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, f'board = ["{BOARD}"]')
    (folder / "other").mkdir()
    monkeypatch.chdir(folder / "other")
    write(folder / "other", 'board = ["no such board"]')
    run("split", "../net.onnx")
    assert read_split(folder / "other" / "split.json").board_names == (BOARD,)


def test_without_config_the_file_is_not_read(folder: Path) -> None:
    write(folder, "no TOML")
    run("--no-config", "analyze", "net.onnx")
    run("analyze", "--help")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no TOML", "is not TOML"),
        ("bord = []", "bord is no known key: did you mean board?"),
        ("out = 'here'", "out is no known key"),
        ("calibration = 'c.json'", "calibration is now cost-table"),
        ("board = 'x'", "board has to be a list of texts"),
        ("board = []", "board is empty: give it a value, or leave the line out"),
        ("board = ['']", "board is empty"),
        ("board = ['esp32']", "board: there is no board 'esp32'"),
        ("bits = 8.5", "bits has to be a whole number or auto"),
        ("baud = true", "baud has to be a whole number or auto"),
        ("baud = 0", "baud 0 has to be at least 1"),
        ("baud = 'fast'", "baud fast: expected a number above zero, or auto"),
        ("baud = 1", "baud: link 1-2: nucleo_g071rb: "),
        ("link = ['1-3:none']", "link '1-3:none': give two different boards from 1 to 2"),
        ("host-baud = 1", "host-baud: nucleo_g071rb: "),
        ("time-limit = 0", "time-limit 0: expected a number of seconds above zero"),
        ("max-energy = nan", "max-energy: a maximum energy of nan J excludes every split"),
        ("input-at = 3", "input-at 3: the number of boards is 2"),
        ("model = 3", "model has to be text"),
        ("model = ''", "model is empty"),
        ("rig = 3", "rig has to be text"),
        ("sample-count = true", "sample-count has to be a whole number"),
        ("time-limit = 'long'", "time-limit has to be a number"),
        ("use-all = 1", "use-all has to be true or false"),
        ("objective = 'speed'", "objective has to be latency or throughput or energy"),
        ("solver = 'x'", "solver: unknown solver"),
        ("input-at = 0", "input-at 0 has to be at least 1"),
        ("#\udcff", "is no text in UTF-8: save it in UTF-8"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(folder: Path, line: str, message: str) -> None:
    boards = () if line.startswith("board") else (f"board = ['{BOARD}', '{BOARD}']",)
    write(folder, line, *boards)
    error = run("run", "net.onnx", "-o", "out", "-s", str(SAMPLES), expect=BAD_INPUT)
    assert error.startswith(f"error: {CONFIG_NAME}")
    assert message in error


def test_a_wrong_value_of_the_command_line_is_that_of_an_option(folder: Path) -> None:
    write(folder, f'board = ["{BOARD}"]', "bits = 12")
    assert run("split", "net.onnx", "--bits", "7", expect=USAGE).startswith("error: --bits 7: ")
    assert run("split", "net.onnx", "--bits", "8", "--input-at", "2", expect=USAGE).startswith("error: --input-at 2: ")


def test_a_folder_with_the_name_of_the_file(folder: Path) -> None:
    (folder / CONFIG_NAME).mkdir()
    assert "is a folder: rename it, or leave it out with --no-config" in run("split", "net.onnx", expect=BAD_INPUT)
    assert "is a folder: rename it, or name another folder with --folder" in run("init", expect=BAD_INPUT)


def test_texts_that_look_like_numbers_and_numbers_of_infinite_value(folder: Path) -> None:
    (folder / "inner").mkdir()
    path = write(folder / "inner", 'baud = "auto"', 'mlperf-model = "7"', "max-latency = inf", 'wiring = "w.json"')
    wiring = str(folder / "inner" / "w.json")
    assert read_config(path) == {"baud": "auto", "mlperf-model": "7", "max-latency": "inf", "wiring": wiring}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sample-count = 0", "sample-count 0 has to be at least 1"),
        ("max-accuracy-drop = nan", "max-accuracy-drop nan has to be at least 0"),
        ("rig = 3", "rig has to be text"),
        ("calibration-counts = 3", "calibration-counts is no known key: did you mean calibration-count?"),
        ("programmer = 'jlink'", "programmer has to be openocd or "),
        ("[board]", "board has to be a list of texts"),
        ("[tool]", "tool is no known key"),
    ],
)
def test_keys_that_a_command_does_not_use_are_checked(folder: Path, line: str, message: str) -> None:
    write(folder, line)
    error = run("analyze", "net.onnx", expect=BAD_INPUT)
    assert error.startswith(f"error: {CONFIG_NAME}: {message}")


def test_generate_takes_the_samples_for_calibration(folder: Path) -> None:
    write(folder, 'model = "net.onnx"', f'board = ["{BOARD}"]', 'samples = "test.npz"')
    run("split")
    assert "test.npz" in run("generate", "--split", "split.json", "-o", "out", expect=BAD_INPUT)
    write(folder, 'model = "net.onnx"', 'samples = "test.npz"', 'calibration-samples = "calibration.npz"')
    assert "calibration.npz" in run("generate", "--split", "split.json", "-o", "out", expect=BAD_INPUT)


def test_a_config_file_is_overwritten_with_force_only(folder: Path) -> None:
    run("init")
    path = write(folder, f'board = ["{BOARD}"]')
    assert "exists" in run("init", expect=BAD_INPUT)
    run("init", "--force")
    assert path.read_text() == config_text()


def test_an_option_that_was_renamed_says_so(folder: Path) -> None:
    assert folder.is_dir()
    error = run("split", "net.onnx", "-b", BOARD, "--calibration", "c.json", expect=USAGE)
    assert error.startswith("error: --calibration is now --cost-table")


def test_boards_of_the_file_do_not_contradict_a_folder(folder: Path) -> None:
    write(folder, f'board = ["{BOARD}"]')
    assert "at least two boards" in run("wiring", expect=USAGE)
    assert "no folder" in run("wiring", "no folder", expect=BAD_INPUT)


def test_only_commands_that_take_a_key_read_the_file(folder: Path) -> None:
    for command in configured_commands():
        assert any(keys().keys() & set(keys_of(command.name, each.name)) for each in command.params), command.name
    write(folder, "no TOML")
    run("boards")


def test_every_option_that_takes_a_key_has_its_type() -> None:
    commands = configured_commands()
    assert {"run", "split", "reset", "flash"} <= {command.name for command in commands}
    for command in commands:
        for parameter in command.params:
            for name in keys().keys() & set(keys_of(command.name, parameter.name)):
                assert parameter.multiple == (keys()[name].expected == "a list of texts"), (command.name, name)
                assert getattr(parameter, "is_flag", False) == (keys()[name].expected == "true or false"), (
                    command.name,
                    name,
                )


def test_keys_are_the_long_names_of_options() -> None:
    options = {name for command in configured_commands() for each in command.params for name in each.opts}
    assert {f"--{name}" for name in keys()} - options == {"--model"}


def test_the_page_has_the_file_that_init_writes() -> None:
    assert f"```toml\n{config_text()}```" in PAGE.read_text(encoding="utf-8")
    assert not tomllib.loads(config_text())


def test_a_file_for_all_commands_serves_each(folder: Path) -> None:
    write(folder, 'model = "net.onnx"', f'board = ["{BOARD}", "{BOARD}"]', 'rig = "virtual"', f'samples = "{SAMPLES}"')
    run("analyze")
    run("pareto", "--second-objective", "energy")
    run("explore", "-b", BOARD, "--max-boards", "1")
    assert "rig virtual: " in run("flash", "no folder", expect=BAD_INPUT)
    assert "not a generated folder" in run("measure", "no folder", expect=BAD_INPUT)
