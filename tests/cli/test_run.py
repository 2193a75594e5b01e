import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = (ROOT / "run", ROOT / ".ci" / "run")


def test_help_needs_no_environment_and_no_working_directory(tmp_path: Path) -> None:
    result = subprocess.run(
        [str(ROOT / "run"), "help"], cwd=tmp_path, env={}, capture_output=True, text=True, check=True
    )
    commands = {" ".join(line.split()[:2]) for line in result.stdout.splitlines()}
    assert {"./run demo", "./run check", "./run test", "./run setup", "./run release"} <= commands
    assert not result.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.relative_to(ROOT)))
def test_scripts_are_executable_bash(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["/bin/bash", "-n", str(script)], check=True)


def test_shellcheck_finds_nothing() -> None:
    subprocess.run(["shellcheck", *map(str, SCRIPTS)], check=True)
