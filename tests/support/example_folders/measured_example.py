"""The example on two virtual boards, measured with all files of `measure`, and validated."""

import json
import shutil
from pathlib import Path
from typing import Any

from commands.command_line import run
from example_folders import example
from session.shared_folder import made_once

BOARD = "nucleo_g071rb"
OPTIONS = ("--save", "--csv", "--junit", "--timeline-svg", "--timeline-trace")


def shared_measured_example() -> tuple[dict[str, Any], Path]:
    """Return what `measure --json` printed, and a folder made once for all tests: do not write into it.

    It has the generated folder as `out`, and the file of each of OPTIONS under the name of the option.
    """

    def make(folder: Path) -> None:
        folder.mkdir()
        out = folder / "out"
        shutil.copytree(example.shared_example(BOARD, BOARD)[1], out)
        files = [text for option in OPTIONS for text in (option, str(folder / option))]
        samples = ("--samples", str(example.SAMPLES), "--sample-count", "1")
        (folder / "printed.json").write_text(run("measure", str(out), *samples, *files, "--json"))
        run("validate", str(out), *samples)

    folder = made_once("measured-example", make)
    return json.loads((folder / "printed.json").read_text()), folder
