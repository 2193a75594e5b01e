"""The commands are there, and imported only when they are used."""

import subprocess
import sys

from typer.main import get_command

from tinysplit.cli.app import app


def test_every_command_is_there_with_its_help() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert {"run", "bench", "import-trace"} <= set(commands)
    for name, command in commands.items():
        assert command.name == name
        assert command.help


def test_no_command_is_imported_before_it_is_used() -> None:
    code = "import sys, tinysplit.cli.app; print({'numpy', 'onnx', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
