"""The example network, generated and built for some boards."""

from pathlib import Path

from rich.console import Console

from shared_folder import made_once
from tinysplit import pipeline
from tinysplit.build.folder import build_folder
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.project.manifest import Project

FOLDER = Path(__file__).parents[2] / "examples" / "tiny_cnn"
MODEL = FOLDER / "tiny_cnn.onnx"
CALIBRATION = FOLDER / "calibration.npz"
SAMPLES = FOLDER / "samples.npz"


def build_example(out: Path, *board_names: str, bits: int = 8, baud: int = 115200) -> Project:
    """Split, generate and build as the command line does; every board gets a layer."""
    project = generate_example(out, *board_names, bits=bits, baud=baud)
    build_folder(project, out, Console(quiet=True)).check()
    return project


def generate_example(out: Path, *board_names: str, bits: int = 8, baud: int = 115200) -> Project:
    """Split and generate; every board gets a layer."""
    settings = CostSettings(bits=bits, baud=baud, use_all=True)
    context = pipeline.Context.load(MODEL, board_names, settings, Console(quiet=True))
    split = pipeline.describe_split(context, pipeline.split_network(context, pipeline.Search()))
    return pipeline.generate_folder(context, split, CALIBRATION, out)


def shared_example(*board_names: str, bits: int = 8, baud: int = 115200) -> tuple[Project, Path]:
    """Return the project as `build_example` makes it and its folder, built once for all tests: do not write into it."""
    name = "-".join((*board_names, str(bits), str(baud)))
    folder = made_once(name, lambda out: build_example(out, *board_names, bits=bits, baud=baud))
    return Project.read(folder), folder
