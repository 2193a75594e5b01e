"""The quantized network of a generated folder: `generate` writes it, `measure` reads it.

`model.onnx` is the float network. Weights and biases that calibration has changed are in `parameters.npz`:
arrays `weights_<n>` and `bias_<n>` of layer n, float32, the weights as output channels x the rest.
"""

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np

from tinysplit.common.errors import InputError, one_line
from tinysplit.common.project_files import MODEL_NAME, PARAMETERS_NAME
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model
from tinysplit.project.manifest import Project
from tinysplit.quantize.choose_formats import quantize


def parameters_file(quantized: QuantizedGraph) -> bytes:
    """Return the contents of `parameters.npz`; they are reproducible for a given network."""
    arrays = {}
    for number, layer in enumerate(quantized.layers, 1):
        if layer.replaced:
            arrays[f"weights_{number}"] = layer.layer.by_channel(layer.layer.parameters["weights"])
            arrays[f"bias_{number}"] = layer.layer.parameters["bias"]
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def read_quantized(folder: Path, project: Project) -> QuantizedGraph:
    """Return the network that `folder` was generated from. Raises InputError when its files have changed since."""
    graph = import_model(folder / MODEL_NAME)
    if graph.sha256 != project.model.copy_sha256:
        raise InputError(
            f"{folder / MODEL_NAME} is another model ({graph.sha256[:12]}) than {folder} was generated from "
            f"({project.model.copy_sha256[:12]}): generate again"
        )
    return quantize(_with_parameters(graph, folder / PARAMETERS_NAME, project), project.formats, project.bits)


def _with_parameters(graph: Graph, path: Path, project: Project) -> Graph:
    try:
        contents = path.read_bytes()
        if hashlib.sha256(contents).hexdigest() != project.model.parameters_sha256:
            raise InputError(f"{path} has changed since it was generated: generate again")
        with np.load(io.BytesIO(contents), allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read ({one_line(error)}): generate again") from None
    layers = list(graph.layers)
    for index, layer in enumerate(graph.layers):
        if f"weights_{index + 1}" in arrays:
            layers[index] = layer.with_parameters(arrays[f"weights_{index + 1}"], arrays[f"bias_{index + 1}"])
    return graph.with_layers(layers)
