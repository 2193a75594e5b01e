"""The example network, generated and built for some boards."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from commands.command_line import run
from session.shared_folder import made_once
from tinysplit import pipeline
from tinysplit.build.folder import build_folder
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.common.choices import Slices
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.sample_files import SampleSource
from tinysplit.project.manifest import Project
from tinysplit.slices.settings import Search

FOLDER = Path(__file__).parents[3] / "examples" / "tiny_cnn"
MODEL = FOLDER / "tiny_cnn.onnx"
CALIBRATION = FOLDER / "calibration.npz"
SAMPLES = FOLDER / "samples.npz"


def build_example(out: Path, *board_names: str, bits: int = 8, baud: int = 115200) -> Project:
    """Split, generate and build as the command line does; every board gets a layer."""
    project = generate_example(out, *board_names, bits=bits, baud=baud)
    build_folder(project, out, Console(quiet=True)).check()
    return project


def generate_example(
    out: Path,
    *board_names: str,
    bits: int = 8,
    baud: int = 115200,
    model: Path = MODEL,
    calibration: Path | SampleSource = CALIBRATION,
    programs: ProgramOptions = PLAIN,
) -> Project:
    """Split and generate; every board gets a layer."""
    settings = CostSettings(bits=bits, baud=baud, use_all=True)
    context = Context.load(model, board_names, settings, Console(quiet=True))
    context = replace(context, programs=programs)
    split = pipeline.describe_split(context, pipeline.split_network(context, Search(slices=Slices.NONE)))
    return pipeline.generate_folder(context, split, calibration, out)


def shared_example(*board_names: str, bits: int = 8, baud: int = 115200) -> tuple[Project, Path]:
    """Return the project as `build_example` makes it and its folder, built once for all tests: do not write into it."""
    name = "-".join((*board_names, str(bits), str(baud)))
    folder = made_once(name, lambda out: build_example(out, *board_names, bits=bits, baud=baud))
    return Project.read(folder), folder


def shared_mixed_run() -> tuple[dict[str, Any], Path]:
    """Return the report of `run --bits auto` on two boards and its folder, made once for all tests."""

    def make(folder: Path) -> None:
        folder.mkdir()
        calibration, out = folder / "calibration.npz", folder / "out"
        with np.load(CALIBRATION) as file:
            np.savez(calibration, x=file["x"][:10])
        boards = ("--board", "nucleo_f446re", "--board", "nucleo_g071rb", "--use-all", "--sample-count", "2")
        samples = ("--samples", str(SAMPLES), "--calibration-samples", str(calibration))
        report = run(
            "run", str(MODEL), *boards, *samples, "-o", str(out), "--bits", "auto", "--min-sqnr", "45", "--json"
        )
        (folder / "report.json").write_text(report)

    folder = made_once("mixed-run", make)
    return json.loads((folder / "report.json").read_text()), folder / "out"
