"""Samples: inputs of the network, and their labels if known."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.choices import MapLayout
from tinysplit.common.errors import InputError
from tinysplit.network.ends import NetworkInput
from tinysplit.network.graph import Graph
from tinysplit.network.sample_files import Array, SampleArrays, SampleEnds, SampleFile, SampleSource
from tinysplit.network.sample_tables import LABEL_COLUMNS
from tinysplit.settings.samples import LAYOUT
from tinysplit.settings.setting import either

Labels = NDArray[np.int64]

MAP_RANK = 4  # samples, and the axes of a map


@dataclass(frozen=True, eq=False)
class Samples:
    """`x` is N x sample_shape in ONNX's order; `labels` has N indices of elements of an output, by its name."""

    x: NDArray[np.float32]
    labels: Mapping[str, Labels] = field(default_factory=dict)

    def first(self, count: int) -> Self:
        """Return the first `count` samples."""
        return replace(self, x=self.x[:count], labels={name: own[:count] for name, own in self.labels.items()})

    def spread(self, count: int) -> Self:
        """Return `count` samples, evenly spread over all, or all if there are no more."""
        chosen = np.unique(np.linspace(0, len(self.x) - 1, count).astype(np.int64))
        return replace(self, x=self.x[chosen], labels={name: own[chosen] for name, own in self.labels.items()})


def load_samples(samples: Path | SampleSource, graph: Graph) -> Samples:
    """Read inputs and labels, if there are some. Raises InputError where they do not match the network."""
    source = SampleFile(samples) if isinstance(samples, Path) else samples
    inputs, outputs = (tuple(end.name for end in ends) for ends in (graph.inputs, graph.outputs))
    arrays = source.read(SampleEnds(graph.name, inputs, outputs))
    if len(inputs) == 1:
        x = _values(graph, graph.inputs[0], f"x of {source.title}", _in_axes_of_input(graph, source, arrays[inputs[0]]))
    else:
        x = _side_by_side(graph, source, arrays)
    labels = {}
    for output in graph.outputs:
        if output.name in arrays:
            alone = "the array of labels" if isinstance(source, SampleArrays) else f"y of {source.title}"
            title = alone if len(outputs) == 1 else f"{output.name!r} of {source.title}"
            labels[output.name] = _checked_labels(source, title, arrays[output.name], len(x), output.class_count)
    return Samples(x, labels)


def _side_by_side(graph: Graph, source: SampleSource, arrays: Mapping[str, Array]) -> NDArray[np.float32]:
    """Return the samples of several inputs as N x all their elements.

    Raises InputError where they do not match the inputs, and for a layout, which is that of one input.
    """
    if source.axes:
        raise InputError(f"{LAYOUT} {source.axes}: {graph.name} has several inputs, leave {LAYOUT} out")
    pieces: dict[str, NDArray[np.float32]] = {}
    for end in graph.inputs:
        x, title = arrays[end.name], f"{end.name!r} of {source.title}"
        if x.ndim == 0 or x.shape[1:] != end.shape:
            raise InputError(_other_shape(title, source, x.shape, end.shape, None, {}))
        pieces[end.name] = _values(graph, end, title, x).reshape(len(x), -1)
    (first, count), *others = ((name, len(piece)) for name, piece in pieces.items())
    for name, other in others:
        if other != count:
            raise InputError(
                f"{source.title} has {count} samples of the input '{first}' and {other} of '{name}': each sample needs "
                "all inputs"
            )
    return np.concatenate(list(pieces.values()), axis=1)


def _values(graph: Graph, end: NetworkInput, title: str, x: Array) -> NDArray[np.float32]:
    """Return the real values of samples of an input. Raises InputError for what are no numbers that it takes."""
    return _checked_values(title, _real_values(graph, end, title, x))


def _real_values(graph: Graph, end: NetworkInput, title: str, x: Array) -> Array:
    """Return what samples stand for, where the input of the network takes integers; others as they are.

    Raises InputError for other numbers than such integers, whatever their type is.
    """
    integers = end.integers
    if integers is None or x.dtype.kind not in "iuf" or not np.isfinite(x).all():
        return x
    limits = np.iinfo(integers.dtype)
    if not (x == np.clip(np.rint(x), limits.min, limits.max)).all():
        sign = "-" if integers.zero_point < 0 else "+"
        scaled = f"round(value / {integers.scale:g}) {sign} {abs(integers.zero_point)} of real values, limited to them"
        raise InputError(
            f"{title} has other values than whole numbers from {limits.min} to {limits.max}, which the "
            f"input of {graph.name} takes ({integers.dtype}): give "
            f"{'pixels as they are' if (integers.scale, integers.zero_point) == (1.0, 0) else scaled}"
        )
    return integers.real(x)


def _in_axes_of_input(graph: Graph, source: SampleSource, x: Array) -> Array:
    """Return `x` with the axes of the network's input; rows of a table get these axes first.

    Raises InputError for a shape that does not fit.
    """
    height, width, channels = graph.in_shape
    shapes = {MapLayout.NHWC: (height, width, channels), MapLayout.NCHW: (channels, height, width)}
    of_input = _map_layout(graph, shapes)
    axes = source.axes
    if axes and of_input is None:
        what = f"{source.title} has images" if source.has_images else f"{LAYOUT} {axes}"
        remedy = "give arrays" if source.has_images else f"leave {LAYOUT} out"
        raise InputError(f"{what}: the input of {graph.name} is no map of channels, {remedy}")
    given = axes or of_input
    shape = shapes[given] if given else graph.inputs[0].shape
    if source.has_rows:
        x = _rows_in_shape(source, x, shape)
    if x.shape[1:] != shape or x.ndim == 0:
        raise InputError(_other_shape(f"x of {source.title}", source, x.shape, shape, given, shapes if given else {}))
    if given == of_input:
        return x
    return x.transpose(0, 3, 1, 2) if given is MapLayout.NHWC else x.transpose(0, 2, 3, 1)


def _rows_in_shape(source: SampleSource, x: Array, shape: tuple[int, ...]) -> Array:
    """Return rows of values as samples. Raises InputError for another number of values."""
    given, wanted = x.shape[1], int(np.prod(shape))
    if given != wanted:
        remedy = "a column for each of them is needed"
        if given == wanted + 1:
            remedy = f"if one column has labels, call it {' or '.join(LABEL_COLUMNS)} in the first line"
        raise InputError(
            f"{source.title} has {given} columns of values, but the network wants {wanted} values ({_text(shape)}): "
            f"{remedy}"
        )
    return x.reshape(-1, *shape)


def _other_shape(
    title: str,
    source: SampleSource,
    given: tuple[int, ...],
    shape: tuple[int, ...],
    layout: MapLayout | None,
    shapes: Mapping[MapLayout, tuple[int, ...]],
) -> str:
    wanted = _text(("N", *shape)) + (f" ({layout})" if layout else "")
    remedy = _remedy(source, given, shape, shapes)
    return f"{title} has the shape {_text(given)}, but the network wants {wanted}: {remedy}"


def _remedy(
    source: SampleSource, given: tuple[int, ...], wanted: tuple[int, ...], shapes: Mapping[MapLayout, tuple[int, ...]]
) -> str:
    """Return what would help for an array of the shape `given`, where samples of the shape `wanted` are needed."""
    if source.has_images:
        height, width, channels = wanted
        return f"convert the images to {width} x {height} pixels{', greyscale' if channels == 1 else ''}"
    layout = next((layout for layout, shape in shapes.items() if shape == given[1:]), None)
    if layout:
        if isinstance(source, SampleFile):
            given_axes = f"give an array in these axes; those of the file look like {layout}"
            return either(f"use {LAYOUT.option} {layout}", given_axes)
        return f"transpose it, its axes are {layout}"
    if given == wanted:
        return "it is one sample, add an axis for samples with x[None]"
    is_flat = given[1:] == (int(np.prod(wanted)),)
    if is_flat or [size for size in given[1:] if size > 1] == [size for size in wanted if size > 1]:
        return f"reshape it with x.reshape({', '.join(map(str, (-1, *wanted)))})"
    return "samples have to be preprocessed as in the training of the network"


def _map_layout(graph: Graph, shapes: Mapping[MapLayout, tuple[int, ...]]) -> MapLayout | None:
    """Return the order of the axes of the network's input, None if it is no map that the first layer reads."""
    elements = np.arange(graph.in_shape.size)
    orders = {
        MapLayout.NHWC: elements,
        MapLayout.NCHW: elements.reshape(shapes[MapLayout.NCHW]).transpose(1, 2, 0).ravel(),
    }
    for layout, shape in shapes.items():
        if graph.inputs[0].shape == shape and np.array_equal(graph.inputs[0].order, orders[layout]):
            return layout
    return None


def _checked_values(title: str, x: Array) -> NDArray[np.float32]:
    if x.dtype.kind not in "fiu":
        raise InputError(f"{title} has elements of type {x.dtype}: numbers are needed")
    if len(x) == 0:
        raise InputError(f"{title} holds no samples: at least one is needed")
    with np.errstate(over="ignore"):  # values outside the float32 range become infinity, and are rejected
        floats = x.astype(np.float32)
    broken = np.flatnonzero(~np.isfinite(floats).reshape(len(x), -1).all(axis=1))
    if broken.size:
        raise InputError(f"{title} has NaN or infinity in {broken.size} samples, first in sample {broken[0] + 1}")
    return floats


def _checked_labels(source: SampleSource, title: str, y: Array, count: int, classes: int) -> Labels:
    if y.shape != (count,):
        remedies = {(count, 1): "save y.ravel()", (count, classes): "save y.argmax(axis=1) of one-hot labels"}
        raise InputError(
            f"{title} has the shape {_text(y.shape)}, but x holds {count} samples: expected is one label "
            f"per sample{''.join(f', {each}' for shape, each in remedies.items() if shape == y.shape)}"
        )
    if y.dtype.kind not in "iu":
        values = "values that are not whole" if source.has_rows else f"elements of type {y.dtype}"
        raise InputError(f"{title} has {values}: labels have to be whole class numbers, 0 to {classes - 1}")
    labels = y.astype(np.int64)
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            f"{title} has labels from {labels.min()} to {labels.max()}, "
            f"but the network has {classes} classes: class numbers count from 0 to {classes - 1}"
        )
    return labels


def _text(shape: tuple[int | str, ...]) -> str:
    return "x".join(str(size) for size in shape) or "()"
