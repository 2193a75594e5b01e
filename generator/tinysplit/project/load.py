"""The quantized network of a generated folder: `generate` writes it, `measure` reads it.

`model.onnx` is the float network. The integer weights and biases of its layers are in `parameters.npz`: arrays
`weights_<n>` and `bias_<n>` of layer n, the weights with the axes of the float ones.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.errors import InputError, one_line
from tinysplit.common.input_files.arrays import read_arrays
from tinysplit.common.input_files.limits import ARRAY_BYTES, read_limited
from tinysplit.common.project_files import MANIFEST_NAME, MODEL_NAME, PARAMETERS_NAME
from tinysplit.network.fixed_point.integer_layer import IntegerParameters
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model
from tinysplit.project.manifest import Project
from tinysplit.project.removed_channels import without_channels
from tinysplit.quantize.choose_formats import quantize


def parameters_file(quantized: QuantizedGraph) -> bytes:
    """Return the contents of `parameters.npz`; they are reproducible for a given network."""
    arrays = {}
    for number, layer in enumerate(quantized.complete.layers, 1):
        if layer.parameters:
            arrays[f"weights_{number}"] = layer.parameters.weights
            arrays[f"bias_{number}"] = layer.parameters.bias
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
    if len(project.formats) != len(graph.layers):
        raise InputError(
            f"{folder / MANIFEST_NAME} has formats of {len(project.formats)} layers, {MODEL_NAME} has "
            f"{len(graph.layers)}: generate again"
        )
    parameters = _read_parameters(graph, folder / PARAMETERS_NAME, project)
    quantized = quantize(graph, project.formats, project.bits, parameters)
    try:
        return without_channels(quantized, project.removed_channels)
    except ValueError as error:
        raise InputError(f"{folder / MANIFEST_NAME} does not fit {MODEL_NAME} ({error}): generate again") from None


def _read_parameters(graph: Graph, path: Path, project: Project) -> dict[str, IntegerParameters]:
    """Return the integer weights and biases by the layers' outputs."""
    try:
        contents = read_limited(path, ARRAY_BYTES)
        if hashlib.sha256(contents).hexdigest() != project.model.parameters_sha256:
            raise InputError(f"{path} has changed since it was generated: generate again")
        arrays = read_arrays(contents)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read ({one_line(error)}): generate again") from None
    layers = enumerate(zip(graph.layers, project.formats, strict=True), 1)
    return {
        layer.output: _parameters_of(path, number, layer, formats, arrays)
        for number, (layer, formats) in layers
        if f"weights_{number}" in arrays
    }


def _parameters_of(
    path: Path, number: int, layer: Layer, formats: LayerFormats, arrays: Mapping[str, NDArray[Any]]
) -> IntegerParameters:
    """Return the parameters of a layer. Raises InputError for other shapes or types than it has."""
    trained = layer.parameters
    types = {"weights": f"int{formats.weight_bits}", "bias": "int32"}
    parameters = {name: arrays.get(f"{name}_{number}", np.zeros(0)) for name in types}
    for name, values in parameters.items():
        if name not in trained or (values.shape, values.dtype.name) != (trained[name].shape, types[name]):
            raise InputError(f"{path} has other {name} than layer {number} {layer.name!r}: generate again")
    return IntegerParameters(parameters["weights"], parameters["bias"])
