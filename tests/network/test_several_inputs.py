"""Samples of networks with several inputs or outputs: by name, and what is refused with one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.two_inputs import two_inputs, two_outputs
from tinysplit.common.choices import MapLayout
from tinysplit.common.errors import InputError
from tinysplit.network.graph import Graph
from tinysplit.network.sample_files import SampleFile, sample_source
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model

X = np.arange(4 * 72, dtype=np.float32).reshape(4, 2, 6, 6)
SETTINGS = np.arange(12).reshape(4, 3)
SIDE_BY_SIDE = np.concatenate([X.reshape(4, -1), SETTINGS], axis=1)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return import_model(two_inputs(tmp_path))


def saved(folder: Path, **arrays: Any) -> Path:  # noqa: ANN401 - as np.savez takes them
    np.savez(folder / "samples.npz", **arrays)
    return folder / "samples.npz"


@pytest.mark.parametrize("names", [("x", "settings"), ("settings", "x"), ("x", "x2")])
def test_arrays_by_name_or_by_number(names: tuple[str, str], graph: Graph, tmp_path: Path) -> None:
    given: dict[str, Any] = {"x": X, "settings": SETTINGS, "x2": SETTINGS}
    arrays = {name: given[name] for name in names}
    samples = load_samples(saved(tmp_path, **arrays, y=np.array([0, 4, 1, 2])), graph)
    np.testing.assert_array_equal(samples.x, SIDE_BY_SIDE)
    assert {name: own.tolist() for name, own in samples.labels.items()} == {"value_6": [0, 4, 1, 2]}
    np.testing.assert_array_equal(samples.first(2).x, SIDE_BY_SIDE[:2])
    np.testing.assert_array_equal(load_samples(sample_source(arrays), graph).x, SIDE_BY_SIDE)


def test_a_single_input_by_its_name(tmp_path: Path) -> None:
    path = two_outputs(tmp_path)
    np.testing.assert_array_equal(load_samples(sample_source({"x": X}), import_model(path)).x, X)


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"x": X}, "lacks the input 'settings' of network: give an array for each input, by its name (x, settings)"),
        ({"settings": SETTINGS}, "lacks the input 'x' of network"),
        ({"a": X, "b": SETTINGS}, "lacks the input 'x' of network"),
        (
            {"x": X, "settings": SETTINGS, "z": X},
            "has an array 'z', but network has no such input or output: its inputs are",
        ),
        (
            {"x": X, "settings": SETTINGS[:3]},
            "has 4 samples of the input 'x' and 3 of 'settings': each sample needs all",
        ),
        ({"x": X, "settings": SETTINGS[0]}, "'settings' of"),
        ({"x": X, "settings": SETTINGS[:, :2]}, "has the shape 4x2, but the network wants Nx3: samples have to be"),
        ({"x": X.transpose(0, 2, 3, 1), "settings": SETTINGS}, "has the shape 4x6x6x2, but the network wants Nx2x6x6"),
        ({"x": X, "settings": SETTINGS + np.inf}, "has NaN or infinity in 4 samples"),
        ({"x": X, "settings": SETTINGS.astype(str)}, "numbers are needed"),
        ({"x": X[:0], "settings": SETTINGS[:0]}, "holds no samples"),
    ],
)
@pytest.mark.parametrize("is_file", [True, False])
def test_samples_that_do_not_fit(
    arrays: dict[str, Any],
    text: str,
    is_file: bool,
    graph: Graph,
    tmp_path: Path,
) -> None:
    source = saved(tmp_path, **arrays) if is_file else sample_source(arrays)
    with pytest.raises(InputError) as caught:
        load_samples(source, graph)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (str(tmp_path) if is_file else "the dict of arrays") in str(caught.value)


def test_other_files_and_layouts(graph: Graph, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(InputError, match=r"x\.npy lacks the input 'settings'"):
        load_samples(tmp_path / "x.npy", graph)
    path = saved(tmp_path, x=X, settings=SETTINGS)
    with pytest.raises(InputError, match="--layout nhwc: network has several inputs, leave --layout out"):
        load_samples(SampleFile(path, layout=MapLayout.NHWC), graph)
    with pytest.raises(InputError, match="--input-key z: network has several inputs, leave --input-key out"):
        load_samples(SampleFile(path, input_key="z"), graph)


def test_labels_of_several_outputs(tmp_path: Path) -> None:
    graph = import_model(two_outputs(tmp_path))
    labels = np.array([0, 4, 1, 2])
    found = load_samples(saved(tmp_path, x=X, value_4=labels), graph)
    assert {name: own.tolist() for name, own in found.labels.items()} == {"value_4": labels.tolist()}
    given = load_samples(sample_source(X, {"value_4": labels}), graph)
    assert list(given.labels) == ["value_4"]
    with pytest.raises(InputError, match=r"has labels 'y', but network has several outputs: name labels as the output"):
        load_samples(saved(tmp_path, x=X, y=labels), graph)
    with pytest.raises(InputError, match=r"'value_2' of .* has labels from 0 to 4, but the network has 4 classes"):
        load_samples(saved(tmp_path, x=X, value_2=labels), graph)
