"""Exit codes of the command line: 130 after an interrupt, 3 or 4 where output cannot be written."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from example_folders import example
from tinysplit.cli.app import app
from virtual_stm32.core import native

MODEL, CALIBRATION = str(example.MODEL), str(example.CALIBRATION)
TWO_G0 = ("--board", "nucleo_g071rb", "--board", "nucleo_g071rb")
RUN_G0 = ("run", MODEL, "-b", "nucleo_g071rb", "-s", CALIBRATION, "-o", "OUT/out")
INTERRUPTED = 130
PIPE_CLOSED = 128 + signal.SIGPIPE
# A process inherits an ignored SIGINT, as from a background job of a shell.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tinysplit.__main__ import main
main()
"""
COMMAND = (sys.executable, "-c", PROGRAM)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated folder."""
    path = tmp_path_factory.mktemp("generated")
    run("split", MODEL, *TWO_G0, "--slices", "none", "-o", str(path / "split.json"))
    run("generate", MODEL, "--split", str(path / "split.json"), "-s", CALIBRATION, "-o", str(path / "out"))
    return path / "out"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("split", "x.onnx", "--period", "foo"),
            "invalid value for '--period': 'foo' is not one of 'firmware',",
        ),
        (("split",), "missing argument 'model': see `"),
        (("splt",), "no such command 'splt'. Did you mean 'split'? see `"),
        (("--frob",), "no such option: --frob: see `"),
        (("measure", "x", "--sample-count", "0"), "--sample-count 0 has to be at least 1: see `"),
        (("measure", "x", "--sample-count", "many"), "--sample-count many has to be a whole number: see `"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_line(arguments: tuple[str, ...], line: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == USAGE
    assert result.stderr.startswith(f"error: {line}")
    assert result.stderr.endswith("--help`\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (
            ("boards", "--new", "stm32f411ret6", "--json"),
            USAGE,
            "--new writes a board file, which is TOML: leave --json out",
        ),
        (
            ("operators", "--markdown", "--json"),
            USAGE,
            "--markdown and --json are two forms of the list: leave one of them out",
        ),
        (("split", MODEL, "-b", "."), BAD_INPUT, ". is a folder: name a board or its file, as in ./NAME.toml"),
        (("report", MODEL), BAD_INPUT, f"{MODEL} is a file: name a folder that `tinysplit generate` wrote"),
        ((*RUN_G0, "--kernel", "99=direct"), USAGE, "--kernel names layer 99, but tiny_cnn has 7 layers"),
        ((*RUN_G0, "--kernel", "1=winograd"), USAGE, "layer 1 (conv1) has no kernel winograd on these boards, only"),
        ((*RUN_G0, "--host-baud", "40"), USAGE, "nucleo_g071rb: the port of its"),
    ],
)
def test_a_mistake_ends_a_command_at_once(arguments: tuple[str, ...], code: int, line: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [each.replace("OUT", str(tmp_path)) for each in arguments])
    assert result.exit_code == code
    assert result.stderr.startswith(f"error: {line}")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    pipe = tmp_path / "split.json"
    os.mkfifo(pipe)
    arguments = (*COMMAND, "generate", MODEL, "--split", str(pipe), "-s", CALIBRATION, "-o", str(tmp_path / "out"))
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process, pipe.open("w"):  # opens when the command reads
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
    assert process.returncode == INTERRUPTED
    assert (out, errors) == ("", "interrupted\n")
    assert not (tmp_path / "out").exists()


def test_an_interrupt_during_the_imports_ends_with_130() -> None:
    interrupted = """
import signal, sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "tinysplit.cli.app":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupted())
"""
    command = (sys.executable, "-c", f"{interrupted}{PROGRAM}", "boards")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("boards",), ("boards", "--json"), ("--version",), ("--help",), ("boards", "-h")]
)
def test_a_closed_pipe_ends_with_141_and_without_a_word(arguments: tuple[str, ...]) -> None:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        assert process.stderr.read() == ""
    assert process.returncode == PIPE_CLOSED


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("boards",), ("boards", "--json"), ("--version",), ("--help",), ("boards", "-h")]
)
def test_a_full_disk_behind_stdout_ends_with_4(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == TOOL
    assert done.stderr == "error: the output: No space left on device\n"


def test_a_full_disk_behind_the_output_file_ends_with_3() -> None:
    line = run("split", MODEL, *TWO_G0, "-o", "/dev/full", expect=BAD_INPUT)
    assert line.startswith("error: /dev/full cannot be written (No space left on device)")


@pytest.mark.usefixtures("by_platformio")
def test_a_build_that_cannot_write_ends_with_4(folder: Path) -> None:
    (project,) = (path for path in folder.iterdir() if path.is_dir())
    (project / ".pio").write_text("a file where a folder has to be")
    try:
        line = run("build", str(folder), expect=TOOL)
    finally:
        (project / ".pio").unlink()
    assert line == f"error: {project / '.pio'}: File exists"


@pytest.mark.usefixtures("by_platformio")
@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_build_in_a_read_only_folder_ends_with_4(code: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Path.mkdir

    def refuse(self: Path, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as Path.mkdir takes them
        if self.is_relative_to(folder):
            raise OSError(code, os.strerror(code), str(self))
        make(self, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    line = run("build", str(folder), expect=TOOL)
    assert line.startswith(f"error: {folder}")
    assert line.endswith(f": {os.strerror(code)}")


def test_a_file_in_place_of_the_parent_folder_ends_with_3(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    out = tmp_path / "file" / "out"
    line = run("split", MODEL, *TWO_G0, "-o", str(out / "split.json"), expect=BAD_INPUT)
    assert "cannot be written: there is no folder" in line
    split = str(folder / "split.json")
    line = run("generate", MODEL, "--split", split, "-s", CALIBRATION, "-o", str(out), expect=BAD_INPUT)
    assert "out cannot be written (File exists)" in line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_read_only_parent_folder_ends_with_3(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> str:  # noqa: ANN401 - as mkdtemp takes them
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    split, out = str(folder / "split.json"), str(tmp_path / "out")
    line = run("generate", MODEL, "--split", split, "-s", CALIBRATION, "-o", out, expect=BAD_INPUT)
    assert "out cannot be written (Read-only file system)" in line


def test_a_run_on_virtual_boards_without_a_c_compiler_ends_with_4_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    native.library.cache_clear()
    arguments = (MODEL, *TWO_G0, "-s", CALIBRATION, "-o", str(tmp_path / "out"))
    line = run("run", *arguments, expect=TOOL)
    assert line.startswith("error: virtual boards need a C compiler, and gcc is not there: install it")
    assert not (tmp_path / "out").exists()
