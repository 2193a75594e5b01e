"""Holds an imported network, layer by layer, against ONNX Runtime."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.float_layers import float_outputs
from tinysplit.network.float_reference import run_float, run_float_values
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Layer, Permute, Recurrent
from tinysplit.onnx_import import import_model


def check(path: Path, samples: int = 2) -> Graph:
    """Import, and compare every layer with the ONNX value that it names, and the output in ONNX's own order."""
    graph = import_model(path)
    x = np.random.default_rng(1).normal(size=(samples, *graph.sample_shape)).astype(np.float32) * 2
    joined = graph.side_by_side
    expected = run_float_values(path, x, [layer.onnx_value for layer in graph.layers if layer.output not in joined])
    outputs = run_float(path, x)
    assert outputs.shape[1:] == graph.output_shape
    for i, sample in enumerate(x.astype(np.float64)):
        value = np.empty(0)
        for layer, value in zip(graph.layers, float_outputs(graph, sample), strict=True):
            if layer.output in joined:
                continue
            onnx_value = expected[layer.onnx_value][i].ravel()
            if isinstance(layer, Permute | Recurrent) and value.size != onnx_value.size:
                _assert_are_some(value, onnx_value)
                continue
            added = np.zeros(value.size - onnx_value.size)  # by a padding layer for zeros that ONNX has in no value
            np.testing.assert_allclose(
                np.sort(value.ravel()), np.sort(np.append(onnx_value, added)), rtol=1e-4, atol=1e-4
            )
        onnx_order = value.ravel()[graph.output_order].reshape(graph.output_shape)
        np.testing.assert_allclose(onnx_order, outputs[i], rtol=1e-4, atol=1e-4)
    names = [layer.name for layer in graph.layers]
    assert len(set(names)) == len(names)
    assert all(names)
    for index, read in enumerate(graph.predecessors):
        assert max(read) < index
    read_by_none = set(range(len(graph.layers))) - {source for read in graph.predecessors for source in read}
    assert read_by_none == {len(graph.layers) - 1}
    return graph


def _assert_are_some(value: NDArray[np.float64], onnx_value: NDArray[np.floating]) -> None:
    """Assert that each number, of a part of an ONNX value or with repetitions, is one of the value's."""
    distances = np.abs(value.reshape(-1, 1) - onnx_value.reshape(1, -1)).min(axis=1)
    np.testing.assert_allclose(distances, 0, atol=1e-4)


def kinds(graph: Graph) -> list[type[Layer]]:
    return [type(layer) for layer in graph.layers]
