"""The formats and integer parameters of a generated folder, with hashes that are right."""

import json
from functools import cache
from hashlib import sha256

import numpy as np

from fuzzing.files import scratch_folder
from fuzzing.json_changes import changed_json
from fuzzing.target import Target
from models.onnx_builder import OnnxBuilder
from rigs.fake_rig import make_project
from tinysplit.common.errors import InputError
from tinysplit.common.project_files import MANIFEST_NAME, MODEL_NAME, PARAMETERS_NAME
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model
from tinysplit.project.layer_formats import ProjectFormats
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.quantize.choose_formats import choose_formats, quantize

_FOLDER = "parameters"


@cache
def _network() -> QuantizedGraph:
    """Return a quantized network of three layers, whose file lies in the folder."""
    net = OnnxBuilder([1, 1, 4, 4])
    first = net.node(
        "Conv", net.constant(np.arange(8).reshape(2, 1, 2, 2) / 8), net.constant([0.5, 1]), pads=[0, 0, 1, 1]
    )
    net.node("Relu")
    net.node("Add", first)
    net.node("Flatten")
    net.node("Gemm", net.constant(np.ones((32, 2)) / 32))
    path = scratch_folder() / _FOLDER / MODEL_NAME
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(net.model().SerializeToString())
    graph = import_model(path)
    return quantize(graph, choose_formats(graph, dict.fromkeys(graph.value_names, (-4.0, 4.0)), 8), 8)


def _seed() -> bytes:
    """Return the formats of the layers and the arrays of their parameters as JSON."""
    layers = _network().layers
    arrays = {
        f"{name}_{number}": [str(values.dtype), values.tolist()]
        for number, layer in enumerate(layers, 1)
        if layer.parameters
        for name, values in (("weights", layer.parameters.weights), ("bias", layer.parameters.bias))
    }
    formats = [ProjectFormats.of(layer.formats).model_dump(mode="json") for layer in layers]
    return json.dumps({"formats": formats, "arrays": arrays}).encode()


def _read(content: bytes) -> object:
    folder, graph = scratch_folder() / _FOLDER, _network().graph
    try:
        data = json.loads(content)
        arrays = {name: np.array(values, dtype) for name, (dtype, values) in data["arrays"].items()}
        formats = list(data["formats"])
        with (folder / PARAMETERS_NAME).open("wb") as file:
            np.savez(file, **arrays, allow_pickle=False)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, SyntaxError):
        raise InputError("this is no such input") from None
    project = make_project()
    hashes = {
        "copy_sha256": graph.sha256,
        "parameters_sha256": sha256((folder / PARAMETERS_NAME).read_bytes()).hexdigest(),
    }
    model = project.model.model_copy(update=hashes)
    text = project.model_copy(update={"model": model}).model_dump(mode="json")
    text["layers"] = [
        {**text["layers"][0], "number": number, "formats": each} for number, each in enumerate(formats, 1)
    ]
    (folder / MANIFEST_NAME).write_text(json.dumps(text))
    return read_quantized(folder, Project.read(folder))


def parameter_targets() -> list[Target]:
    """Return the reading of parameters."""
    return [Target("parameters", _read, lambda: [_seed()], changes=(changed_json,) * 3)]
