"""The commands are there, and imported only when they are used; what their help and the shell's completion say."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from commands.command_line import USAGE, run
from example_folders.example import CALIBRATION, MODEL
from tinysplit.cli.app import _COMMANDS, _FIRST_OPTIONS, app, imported_command
from tinysplit.settings.setting import Heading


def test_every_command_is_there_with_its_help() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert {"run", "bench", "import-trace"} <= set(commands)
    for name, command in commands.items():
        assert command.name == name
        assert command.help


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], {"numpy", "onnx", "pydantic", "jinja2", "rich", "tinysplit.boards"}),
        (["boards"], {"numpy", "onnx", "jinja2", "modm_devices", "pydantic", "rich._emoji_codes", "serial", "xml"}),
        (["boards"], {"tinysplit.boards.new_board", "tinysplit.common.templates", "tinysplit.cli.config.keys"}),
        (["split", "--help"], {"numpy", "onnx", "jinja2", "serial"}),
        (["explore", "--help"], {"numpy", "onnx", "jinja2", "serial"}),
        (["run", "--help"], {"numpy", "onnx", "jinja2", "serial"}),
    ],
)
def test_commands_import_what_they_need(arguments: list[str], heavy: set[str]) -> None:
    code = (
        "import sys\nfrom tinysplit.cli.app import app\n"
        f"try:\n    app({arguments})\nfinally:\n    print({heavy} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"


@pytest.mark.parametrize(
    ("arguments", "packages"),
    [(["--help"], {"cli", "common", "settings"}), (["boards"], {"boards", "cli", "common", "settings"})],
)
def test_the_first_commands_of_a_user_import_the_first_packages_only(arguments: list[str], packages: set[str]) -> None:
    code = (
        "import sys\nfrom tinysplit.cli.app import app\n"
        f"try:\n    app({arguments})\nfinally:\n"
        "    print({name.split('.')[1] for name in sys.modules if name.startswith('tinysplit.')}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stderr) == packages


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", "--help"],
        ["quantize", str(MODEL), "--samples", str(CALIBRATION), "--statistics"],
    ],
)
@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-9"])
def test_a_terminal_of_another_encoding_is_written_to(arguments: list[str], encoding: str) -> None:
    result = CliRunner(charset=encoding).invoke(app, arguments)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("arguments", [["-h"], ["boards", "-h"]])
def test_short_form_of_help(arguments: list[str]) -> None:
    assert "Show this message" in run(*arguments)


def commands_with_names() -> Iterator[tuple[str, Any]]:
    """Yield all commands, those of groups after their group."""
    for name in _COMMANDS:
        command = imported_command(name)
        yield name, command
        yield from ((f"{name} {sub}", each) for sub, each in getattr(command, "commands", {}).items())


def test_no_command_takes_an_empty_value() -> None:
    checked = 0
    for name, command in commands_with_names():
        fillers: list[str] = []
        for parameter in (each for each in command.params if not hasattr(command, "commands")):
            is_option = parameter.param_type_name == "option"
            if is_option and parameter.is_flag:
                continue
            given = [parameter.opts[0], ""] if is_option else [*fillers, ""]
            fillers += [] if is_option else ["x"]
            error = run(*name.split(), *given, expect=USAGE)
            assert " is empty, but needs a value: see " in error, (name, parameter.name, error)
            checked += 1
    assert checked > 100
    assert run("--log", "", "boards", expect=USAGE).startswith("error: --log is empty")


def test_every_help_has_an_example_that_can_be_parsed() -> None:
    commands = dict(commands_with_names())
    for name, command in commands.items():
        examples = re.findall("^Example: tinysplit (.*)$", command.epilog, re.MULTILINE)
        assert examples, name
        for example in examples:
            assert example.startswith(name)
            words = shlex.split(example)
            n_names = 2 if " ".join(words[:2]) in commands else 1
            commands[" ".join(words[:n_names])].make_context(name, words[n_names:])


@pytest.mark.parametrize("name", ["split", "run", "explore", "generate", "measure"])
def test_options_stand_under_headings_in_their_order(name: str) -> None:
    options = [each for each in imported_command(name).params if each.param_type_name == "option"]
    headings = list(dict.fromkeys(each.rich_help_panel for each in options if each.rich_help_panel))
    assert headings == [heading for heading in Heading if heading in headings]
    assert sum(each.rich_help_panel is None for each in options) <= 5


def test_help_is_short_and_help_all_has_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shortened = set()
    for name, command in commands_with_names():
        options = {each.opts[0] for each in command.params if each.param_type_name == "option"}
        if hasattr(command, "commands"):
            continue
        text = run(*name.split(), "--help")
        assert len(text.splitlines()) <= 60, name
        shown = {option for option in options if re.search(rf"^  (-\w, )?{option}\b", text, re.MULTILINE)}
        assert len(shown) <= 8, name
        if shown != options:
            shortened.add(name)
            every = run(*name.split(), "--help-all")
            assert all(re.search(rf"^  (-\w, )?{option}\b", every, re.MULTILINE) for option in options), name
            assert {each.opts[0] for each in command.params if each.required and each.opts[0] in options} <= shown
    assert shortened == set(_FIRST_OPTIONS)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("tinysplit compl", ""),
        ("tinysplit meas", "measure"),
        ("tinysplit bench res", "reset"),
        ("tinysplit example ti", "tiny_cnn"),
        ("tinysplit split net.onnx -b nucleo_g0", "nucleo_g071rb\nnucleo_g0b1re"),
        ("tinysplit measure out --rig v", "virtual"),
        ("tinysplit measure out --rig new/o", "new/own.toml"),
        ("tinysplit generate net.onnx --split sp", "split.json"),
        ("tinysplit run n", "net.onnx\nnet.tflite"),
    ],
)
def test_the_shell_completes(words: str, completed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    for name in ("net.onnx", "net.tflite", "notes.txt", "new/own.toml", "split.json"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_TINYSPLIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert CliRunner().invoke(app, prog_name="tinysplit").stdout.strip() == completed
