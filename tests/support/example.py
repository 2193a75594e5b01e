"""The example network, generated and built for some boards."""

from pathlib import Path

from rich.console import Console

from tinysplit import pipeline
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.onnx_import import import_model
from tinysplit.project.manifest import Project

FOLDER = Path(__file__).parents[2] / "examples" / "tiny_cnn"
MODEL = FOLDER / "tiny_cnn.onnx"
CALIBRATION = FOLDER / "calibration.npz"
SAMPLES = FOLDER / "samples.npz"


def build_example(out: Path, *board_names: str, bits: int = 8, baud: int = 115200) -> Project:
    """Split, generate and build; every board gets a layer."""
    graph, quiet = import_model(MODEL), Console(quiet=True)
    settings = CostSettings(bits=bits, baud=baud, use_all=True)
    split = pipeline.split_graph(graph, board_names, settings, "auto", quiet)
    project = pipeline.generate_folder(graph, split.file, CALIBRATION, 100, MODEL, out, quiet)
    pipeline.build_folder(project, out, quiet).check()
    return project
