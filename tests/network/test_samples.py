"""Samples that fit the network are read; every other file is refused with one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layer_cases import one_layer_graph
from tinysplit.common.errors import InputError
from tinysplit.network.graph import Graph
from tinysplit.network.layers import MaxPool, Shape, Window
from tinysplit.network.samples import load_samples


@pytest.fixture
def graph() -> Graph:
    window = Window(kernel=(1, 1))
    return one_layer_graph(MaxPool(name="p", inputs=("x",), output="y", in_shape=Shape(2, 1, 3), window=window))


def saved(folder: Path, **arrays: Any) -> Path:  # noqa: ANN401 - as np.savez takes them
    path = folder / "samples.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint8, np.int64])
def test_samples_with_labels(tmp_path: Path, graph: Graph, dtype: type[np.number[Any]]) -> None:
    x = np.arange(24, dtype=dtype).reshape(4, 2, 1, 3)
    samples = load_samples(saved(tmp_path, x=x, y=np.array([0, 5, 1, 2], np.int32)), graph)
    assert samples.x.dtype == np.float32
    assert samples.y is not None
    np.testing.assert_array_equal(samples.x, x)
    np.testing.assert_array_equal(samples.y, [0, 5, 1, 2])


def test_samples_without_labels(tmp_path: Path, graph: Graph) -> None:
    assert load_samples(saved(tmp_path, x=np.zeros((4, 2, 1, 3))), graph).y is None


GOOD = np.zeros((4, 2, 1, 3), np.float32)


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"images": GOOD}, "holds no array 'x' with samples (it holds: images)"),
        ({"x": np.zeros((4, 3, 2, 1))}, "has the shape 4x3x2x1, but the network wants Nx2x1x3"),
        ({"x": GOOD[0]}, "has the shape 2x1x3, but the network wants Nx2x1x3"),
        ({"x": np.float32(1)}, "has the shape (), but"),
        ({"x": np.where(np.arange(4) == 2, np.nan, 0)[:, None, None, None] + GOOD}, "in 1 samples, first in sample 3"),
        ({"x": GOOD + np.inf}, "NaN or infinity in 4 samples"),
        ({"x": GOOD.astype(np.float64) + 1e300}, "NaN or infinity in 4 samples"),
        ({"x": GOOD[:0]}, "holds no samples"),
        ({"x": GOOD.astype(str)}, "numbers are needed"),
        ({"x": GOOD.astype(object)}, "no .npz file of numbers: save arrays of numbers"),
        ({"x": GOOD.astype(complex)}, "numbers are needed"),
        ({"x": GOOD, "y": np.zeros(3, int)}, "y of"),
        ({"x": GOOD, "y": np.zeros((4, 6), int)}, "has the shape 4x6, but x holds 4 samples"),
        ({"x": GOOD, "y": np.zeros(4)}, "whole numbers are needed as labels"),
        ({"x": GOOD, "y": np.array([0, 6, 1, 1])}, "labels from 0 to 6, but the network has 6 outputs (0 to 5)"),
        ({"x": GOOD, "y": np.array([0, -1, 1, 1])}, "labels from -1 to 1"),
    ],
)
def test_samples_that_do_not_fit(tmp_path: Path, graph: Graph, arrays: dict[str, Any], text: str) -> None:
    path = saved(tmp_path, **arrays)
    with pytest.raises(InputError) as caught:
        load_samples(path, graph)
    assert text in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_samples(tmp_path: Path, graph: Graph) -> None:
    files = {"text.npz": b"hello", "zip.npz": b"PK\x03\x04 no zip", "empty.npz": b""}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=r"no \.npz file.*numpy\.savez") as caught:
            load_samples(tmp_path / name, graph)
        assert "pickle" not in str(caught.value)
    np.save(tmp_path / "x.npy", GOOD)
    with pytest.raises(InputError, match=r"no \.npz file"):
        load_samples(tmp_path / "x.npy", graph)
    with pytest.raises(InputError, match="missing"):
        load_samples(tmp_path / "absent.npz", graph)
    with pytest.raises(InputError, match="folder"):
        load_samples(tmp_path, graph)
