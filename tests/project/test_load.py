from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL
from tinysplit import pipeline
from tinysplit.common.errors import InputError
from tinysplit.common.project_files import PARAMETERS_NAME
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.quantize.scale_search import TimeLimit
from tinysplit.slices.settings import Search

QUIET = Console(quiet=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out, context = tmp_path / "out", Context.load(MODEL, ["nucleo_g071rb"], CostSettings(bits=8), QUIET)
    split = pipeline.describe_split(context, pipeline.split_network(context, Search()))
    pipeline.generate_folder(context, split, CALIBRATION, out, calibration_count=20)
    return out


def test_the_folder_has_the_integers_that_calibration_chose(folder: Path) -> None:
    graph = import_model(MODEL)
    samples, limit = load_samples(CALIBRATION, graph).first(20), TimeLimit(shipped_table(), ("cortex-m0plus",))
    wanted = quantize_model(graph, MODEL, samples, 8, QUIET, limit).quantized
    found = read_quantized(folder, Project.read(folder))
    nearest = (layer.layer.round_parameters(layer.formats) for layer in wanted.layers)
    pairs = [(own.parameters, other) for own, other in zip(wanted.layers, nearest, strict=True)]
    assert any(own and other and not np.array_equal(own.weights, other.weights) for own, other in pairs)
    for own, read in zip(wanted.layers, found.layers, strict=True):
        assert own.constants.keys() == read.constants.keys()
        assert all(np.array_equal(own.constants[name], read.constants[name]) for name in own.constants)


@pytest.mark.parametrize(
    ("contents", "message"), [(b"", "has changed since it was generated"), (None, "cannot be read .*: generate again")]
)
def test_parameters_that_changed_are_refused(folder: Path, contents: bytes | None, message: str) -> None:
    path, project = folder / PARAMETERS_NAME, Project.read(folder)
    if contents is None:
        path.unlink()
    else:
        path.write_bytes(contents)
    with pytest.raises(InputError, match=message):
        read_quantized(folder, project)
