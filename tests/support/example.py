"""The example network, generated and built for some boards."""

from pathlib import Path

from rich.console import Console

from tinysplit import pipeline
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.project.manifest import Project

FOLDER = Path(__file__).parents[2] / "examples" / "tiny_cnn"
MODEL = FOLDER / "tiny_cnn.onnx"
CALIBRATION = FOLDER / "calibration.npz"
SAMPLES = FOLDER / "samples.npz"


def build_example(out: Path, *board_names: str, bits: int = 8, baud: int = 115200) -> Project:
    """Split, generate and build; every board gets a layer."""
    settings = CostSettings(bits=bits, baud=baud, use_all=True)
    context = pipeline.Context.load(MODEL, board_names, settings, Console(quiet=True))
    split = pipeline.describe_split(context, pipeline.split_network(context, pipeline.Search()))
    project = pipeline.generate_folder(context, split, CALIBRATION, out)
    pipeline.build_folder(project, out, context.messages).check()
    return project
