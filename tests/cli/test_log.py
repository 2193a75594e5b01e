"""--log and --verbose: messages, programs that are started, and where an error comes from."""

import logging
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, run
from example_folders.example import MODEL
from tinysplit.cli.app import app
from tinysplit.common.log import logged
from tinysplit_hil.rig.commands import run_command


def test_the_log_has_messages_and_the_traceback_of_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    board, out = ("-b", "nucleo_g071rb"), ("-o", str(tmp_path / "split.json"))
    run("--log", str(log), "split", str(MODEL), *board, *out)
    run("--log", str(log), "analyze", "missing.onnx", expect=BAD_INPUT)
    lines = log.read_text()
    assert lines.count("tinysplit_version") == 2
    assert "INFO tinysplit.cli.basic_options: splitting tiny_cnn over nucleo_g071rb ..." in lines
    assert "INFO tinysplit.cli.basic_options: error: missing.onnx" in lines
    assert "Traceback" in lines
    assert not logging.getLogger("tinysplit").handlers


def test_a_file_of_the_user_is_no_log(tmp_path: Path) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("precious\n")
    error = run("--log", str(file), "boards", expect=BAD_INPUT)
    assert error == f"error: {file} exists and was not written by tinysplit: name another file"
    assert file.read_text() == "precious\n"


def test_verbose_prints_where_an_error_comes_from() -> None:
    result = CliRunner().invoke(app, ["--verbose", "analyze", "missing.onnx"])
    assert "Traceback" in result.stderr
    assert result.stderr.count("error: missing.onnx") == 1
    assert result.stdout == ""


def test_programs_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        run_command((sys.executable, "-c", "print('a word')"), 60)
    assert "-c 'print('\"'\"'a word" in caplog.text
    assert "exit code 0:\na word" in caplog.text


def test_warnings_are_printed_without_what_controls_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("tinysplit"), "propagate", False)  # reports of tests have to be UTF-8
    log = tmp_path / "log.txt"
    for path in (None, log):
        with logged(path, is_verbose=False):
            logging.getLogger("tinysplit.common").warning("\x1b]0;x\x07 \udcff")
    assert capsys.readouterr().err == "warning: \\x1b]0;x\\x07 \\udcff\n" * 2
    assert "\\x1b]0;x\\x07" in log.read_text()
