"""Commands that build nothing leave nothing in the user's folders."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from example_folders.example import MODEL

SUPPORT = Path(__file__).parents[1] / "support"
COMMANDS = """
import sys
from commands.command_line import run
model, split = sys.argv[1:]
run("--version")
run("analyze", model)
run("split", model, "--board", "nucleo_g071rb", "--out", split)
"""


@pytest.mark.slow
def test_an_empty_home_stays_empty(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_", "GITHUB_"))}
    path = os.pathsep.join((str(SUPPORT), *filter(None, sys.path)))
    subprocess.run(
        [sys.executable, "-c", COMMANDS, str(MODEL), str(tmp_path / "split.json")],
        check=True,
        env={**kept, "HOME": str(home), "PYTHONPATH": path},
    )
    assert list(home.iterdir()) == []
    assert (tmp_path / "split.json").is_file()
