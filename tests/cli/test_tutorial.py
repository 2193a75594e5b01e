"""Every command of docs/tutorial.md: run in its order, or parsed where it needs hardware."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from command_line import run
from example import CALIBRATION, MODEL, SAMPLES, shared_example
from tinysplit.cli.app import imported_command

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


def commands(kind: str) -> list[list[str]]:
    """Return the arguments of the commands in blocks of one kind."""
    blocks = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert all(line[0] == "tinysplit" for line in lines)
    return [line[1:] for line in lines]


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (MODEL, CALIBRATION, SAMPLES):
        shutil.copy(path, tmp_path)
    _, built = shared_example("nucleo_g071rb", "nucleo_g071rb")
    shutil.copytree(built, "out")  # the same programs, which then need not be built again
    shown = " ".join("".join(run(*each) for each in commands("sh")).split())  # long lines are broken
    assert Path("report.html").is_file()
    page = PAGE.read_text(encoding="utf-8")
    for line in re.findall(r"^    (Outputs of.*|Integer reference.*)$", page, re.MULTILINE):
        assert line in shown


@pytest.mark.parametrize("command", commands("sh hardware"), ids=" ".join)
def test_commands_for_hardware_are_understood(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tinysplit.toml").write_text('samples = "samples.npz"')
    name, *arguments = command
    group = imported_command(name)
    parsed = group.commands[arguments.pop(0)] if name == "bench" else group
    parsed.make_context(name, arguments)
