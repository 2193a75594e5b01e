"""`tinysplit virtual`: other clients get what `measure` gets; it leaves nothing; what a user can get wrong."""

import ast
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from commands.served_boards import served, without_account
from example_folders import example
from programs.firmware_on_host import SANITIZED, WARNINGS
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project

BOARD = "nucleo_g071rb"
CLIENTS = example.FOLDER.parent / "reference_client"
PTY: tuple[str, ...] = ()
TCP = ("--tcp", "0")
SAMPLES = ("--samples", str(example.SAMPLES), "--sample-count", "2", "--json")
LAYER = re.compile(r"board (\d+) layer (\d+): (\d+) cycles")


@pytest.fixture(scope="module")
def folder() -> Path:
    return example.shared_example(BOARD, BOARD)[1]


@pytest.fixture(scope="module")
def measured(folder: Path) -> dict[str, Any]:
    """What `measure` prints with virtual boards of its own."""
    report: dict[str, Any] = json.loads(run("measure", str(folder), *SAMPLES))
    return report


@pytest.mark.slow
@pytest.mark.parametrize("options", [PTY, TCP], ids=["pty", "tcp"])
def test_measure_on_its_ports_gives_what_it_gives_on_virtual_boards(
    options: Sequence[str], folder: Path, measured: dict[str, Any], tmp_path: Path
) -> None:
    rig, expected = tmp_path / "rig.toml", without_account(measured)
    with served(folder, *options, "-o", str(rig), temporary=tmp_path):
        for _ in range(2):
            found = json.loads(run("measure", str(folder), *SAMPLES, "--rig", str(rig)))
            assert without_account(found) == expected


@pytest.fixture(scope="module")
def input_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A file with the input of the first sample, and its output in hexadecimal digits."""
    path, quantized = tmp_path_factory.mktemp("input") / "input.bin", read_quantized(folder, Project.read(folder))
    with np.load(example.SAMPLES) as samples:
        x = samples["x"][:1]
    path.write_bytes(quantize_input(quantized, x).tobytes())
    return path, run_integer(quantized, x).astype(np.int8).tobytes().hex()


@pytest.fixture(scope="module")
def c_client(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("client") / "client"
    source = str(CLIENTS / "client.c")
    subprocess.run(["gcc", *SANITIZED, *WARNINGS, source, "-o", str(program)], check=True)
    return str(program)


@pytest.mark.slow
@pytest.mark.parametrize("options", [PTY, TCP], ids=["pty", "tcp"])
@pytest.mark.parametrize("is_in_c", [False, True], ids=["python", "c"])
def test_reference_clients(
    is_in_c: bool,
    options: Sequence[str],
    folder: Path,
    measured: dict[str, Any],
    input_file: tuple[Path, str],
    c_client: str,
    tmp_path: Path,
) -> None:
    expected = measured["layers"]
    command = [c_client] if is_in_c else [sys.executable, str(CLIENTS / "client.py")]
    with served(folder, *options, temporary=tmp_path) as boards:
        for _ in range(2):  # each opens the ports anew
            done = subprocess.run(
                [*command, str(input_file[0]), *boards.ports], capture_output=True, text=True, check=True
            )
            assert done.stdout.splitlines()[0] == f"output {input_file[1]}"
            layers = [tuple(map(int, found.groups())) for found in LAYER.finditer(done.stdout)]
            assert [layer[:2] for layer in layers] == [(layer["board"], layer["number"]) for layer in expected]
            # An interrupt in a layer more or less, as the client's requests arrive at other times.
            cycles = [layer["cycles"] for layer in expected]
            assert [layer[2] for layer in layers] == pytest.approx(cycles, rel=0.01, abs=1000)


@pytest.mark.slow
def test_reference_clients_name_what_is_wrong(
    folder: Path, input_file: tuple[Path, str], c_client: str, tmp_path: Path
) -> None:
    (tmp_path / "short.bin").write_bytes(input_file[0].read_bytes()[1:])
    with served(folder, *TCP, temporary=tmp_path) as boards:
        for command in ([c_client], [sys.executable, str(CLIENTS / "client.py")]):
            arguments = [*command, str(tmp_path / "short.bin"), *boards.ports]
            done = subprocess.run(arguments, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.startswith(f"{boards.ports[0]} expects an input of 784 bytes")


@pytest.mark.slow
def test_the_readme_makes_the_input(folder: Path, input_file: tuple[Path, str], tmp_path: Path) -> None:
    code = (CLIENTS / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tiny_cnn").symlink_to(folder)
    (tmp_path / "examples").symlink_to(example.FOLDER.parent)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "input.bin").read_bytes() == input_file[0].read_bytes()


def test_reference_clients_are_short_and_need_nothing() -> None:
    python, c = ((CLIENTS / name).read_text() for name in ("client.py", "client.c"))
    assert len(python.splitlines()) < 150
    assert len(c.splitlines()) < 300
    used = {alias.name for node in ast.walk(ast.parse(python)) if isinstance(node, ast.Import) for alias in node.names}
    used |= {str(node.module) for node in ast.walk(ast.parse(python)) if isinstance(node, ast.ImportFrom)}
    assert used - sys.stdlib_module_names == {"serial"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_with_0_and_leaves_nothing(number: signal.Signals, folder: Path, tmp_path: Path) -> None:
    rig, temporary = tmp_path / "rig.toml", tmp_path / "temporary"
    temporary.mkdir()
    with served(folder, *TCP, "-o", str(rig), temporary=temporary) as boards:
        assert rig.is_file()
        assert list(temporary.glob("tinysplit*"))
        boards.process.send_signal(number)
        assert boards.process.wait() == 0
        assert boards.process.stderr
        assert boards.process.stderr.read().endswith("stopped\n")
    assert not rig.exists()
    assert not list(temporary.glob("tinysplit*"))


@pytest.mark.slow
def test_json_lists_the_ports(folder: Path) -> None:
    command = [sys.executable, "-m", "tinysplit", "virtual", str(folder), *TCP, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        lines = iter(process.stdout.readline, "}\n")
        boards = json.loads("".join(lines) + "}")["boards"]
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert [(board["number"], board["name"], board["baud"]) for board in boards] == [
        (1, BOARD, 921600),
        (2, BOARD, 921600),
    ]
    assert all(board["port"].startswith("socket://127.0.0.1:") for board in boards)


# What a user can get wrong


@pytest.fixture(scope="module")
def unbuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("generated")
    run("split", str(example.MODEL), "--board", BOARD, "-o", str(path / "split.json"))
    split, samples = str(path / "split.json"), str(example.CALIBRATION)
    run("generate", str(example.MODEL), "--split", split, "-s", samples, "-o", str(path / "out"))
    return path / "out"


def test_no_such_folder(tmp_path: Path) -> None:
    line = run("virtual", str(tmp_path / "out"), expect=BAD_INPUT)
    assert line.endswith("out is not a generated folder: it has no tinysplit.json (make one with `tinysplit generate`)")


def test_a_folder_that_is_not_built(unbuilt: Path) -> None:
    line = run("virtual", str(unbuilt), expect=BAD_INPUT)
    assert line.endswith(f"firmware.elf is missing: build the folder first (`tinysplit build {unbuilt}`)")


def test_pty_and_tcp_exclude_each_other(unbuilt: Path) -> None:
    line = run("virtual", str(unbuilt), "--pty", "--tcp", "5000", expect=USAGE)
    assert line == "error: --pty and --tcp exclude each other: choose one"


def test_no_such_tcp_port(unbuilt: Path) -> None:
    assert "--tcp 65536 has to be at most 65535" in run("virtual", str(unbuilt), "--tcp", "65536", expect=USAGE)


@pytest.mark.slow
def test_a_tcp_port_in_use(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        line = run("virtual", str(folder), "--tcp", str(number), expect=TOOL)
    assert line == f"error: TCP port {number} is in use: choose another one with --tcp"


@pytest.mark.slow
def test_a_rig_file_of_somebody_else_is_kept(folder: Path, tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text('[[board]]\nport = "/dev/ttyACM0"\n')
    line = run("virtual", str(folder), "-o", str(rig), expect=BAD_INPUT)
    assert line == f"error: {rig} exists and was not written by tinysplit: name another file, or overwrite with --force"
    assert "ttyACM0" in rig.read_text()
    line = run("virtual", str(folder), "-o", str(tmp_path / "no" / "rig.toml"), expect=BAD_INPUT)
    assert "cannot be written: there is no folder" in line


@pytest.mark.slow
def test_boards_that_have_stopped(folder: Path, tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    with served(folder, *TCP, "-o", str(rig), temporary=tmp_path):
        text = rig.read_text()
    rig.write_text(text)
    line = run("measure", str(folder), *SAMPLES, "--rig", str(rig), expect=TOOL)
    assert "cannot be opened" in line
