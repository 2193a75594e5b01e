"""Samples that fit the network are read; every other file is refused with one line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernel_cases.layer_cases import one_layer_graph
from tinysplit.common.choices import MapLayout
from tinysplit.common.errors import InputError, UsageError
from tinysplit.network import sample_tables
from tinysplit.network.graph import Graph
from tinysplit.network.layers import MaxPool, Shape, Window
from tinysplit.network.sample_files import SampleFile, sample_source
from tinysplit.network.samples import load_samples


@pytest.fixture
def graph() -> Graph:
    window = Window(kernel=(1, 1))
    return one_layer_graph(MaxPool(name="p", inputs=("x",), output="y", in_shape=Shape(2, 1, 3), window=window))


def with_input(graph: Graph, shape: tuple[int, ...], order: NDArray[np.int64]) -> Graph:
    return replace(graph, inputs=(replace(graph.inputs[0], shape=shape, order=order),))


def saved(folder: Path, **arrays: Any) -> Path:  # noqa: ANN401 - as np.savez takes them
    path = folder / "samples.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint8, np.int64])
def test_samples_with_labels(tmp_path: Path, graph: Graph, dtype: type[np.number[Any]]) -> None:
    x = np.arange(24, dtype=dtype).reshape(4, 2, 1, 3)
    samples = load_samples(saved(tmp_path, x=x, y=np.array([0, 5, 1, 2], np.int32)), graph)
    assert samples.x.dtype == np.float32
    np.testing.assert_array_equal(samples.x, x)
    np.testing.assert_array_equal(samples.labels["y"], [0, 5, 1, 2])


def test_samples_without_labels(tmp_path: Path, graph: Graph) -> None:
    assert not load_samples(saved(tmp_path, x=np.zeros((4, 2, 1, 3))), graph).labels


GOOD = np.zeros((4, 2, 1, 3), np.float32)


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"images": GOOD}, "holds no array 'x' with samples (it holds: images)"),
        ({"x": np.zeros((4, 3, 2, 1))}, "4x3x2x1, but the network wants Nx2x1x3 (nhwc): use --layout nchw"),
        ({"x": np.zeros((4, 5, 5, 3))}, "(nhwc): samples have to be preprocessed as in the training of the network"),
        ({"x": GOOD[:, :, 0]}, "has the shape 4x2x3, but the network wants Nx2x1x3 (nhwc): reshape it with"),
        ({"x": GOOD.reshape(4, 6)}, "reshape it with x.reshape(-1, 2, 1, 3)"),
        ({"x": GOOD[0]}, "it is one sample, add an axis for samples with x[None]"),
        ({"x": np.float32(1)}, "has the shape (), but"),
        ({"x": np.where(np.arange(4) == 2, np.nan, 0)[:, None, None, None] + GOOD}, "in 1 samples, first in sample 3"),
        ({"x": GOOD + np.inf}, "NaN or infinity in 4 samples"),
        ({"x": GOOD.astype(np.float64) + 1e300}, "NaN or infinity in 4 samples"),
        ({"x": GOOD[:0]}, "holds no samples"),
        ({"x": GOOD.astype(str)}, "numbers are needed"),
        ({"x": GOOD.astype(object)}, "no .npz file of numbers: save arrays of numbers"),
        ({"x": GOOD.astype(complex)}, "numbers are needed"),
        ({"x": GOOD, "y": np.zeros(3, int)}, "y of"),
        ({"x": GOOD, "y": np.zeros((4, 5), int)}, "has the shape 4x5, but x holds 4 samples"),
        ({"x": GOOD, "y": np.zeros((4, 6), int)}, "one label per sample, save y.argmax(axis=1) of one-hot labels"),
        ({"x": GOOD, "y": np.zeros((4, 1), int)}, "one label per sample, save y.ravel()"),
        ({"x": GOOD, "y": np.zeros(4)}, "of type float64: labels have to be whole class numbers, 0 to 5"),
        ({"x": GOOD, "y": np.array([0, 6, 1, 1])}, "labels from 0 to 6, but the network has 6 classes: class numbers"),
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


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("text.npz", b"hello", "is no .npz file of numbers: save arrays of numbers with numpy.savez"),
        ("zip.npz", b"PK\x03\x04 no zip", "is no .npz file of numbers (File is not a zip file): save arrays"),
        ("empty.npz", b"", "is no .npz file of numbers (No data left in file): save arrays"),
        ("text.npy", b"hello", "is no .npy file of numbers: save an array of numbers with numpy.save(path, x)"),
        (
            "notes.txt",
            b"hello",
            "is no file of arrays of numbers: an .npz, .npy or .csv file with samples is needed, or a",
        ),
    ],
)
def test_files_that_are_no_samples(tmp_path: Path, graph: Graph, name: str, content: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_samples(tmp_path / name, graph)
    assert str(caught.value).startswith(f"{tmp_path / name} {text}")


def test_paths_without_a_file(tmp_path: Path, graph: Graph) -> None:
    with pytest.raises(InputError, match="missing"):
        load_samples(tmp_path / "absent.npz", graph)
    with pytest.raises(InputError, match="has no images: PNG or JPEG files are needed, in a sub-folder for each class"):
        load_samples(tmp_path, graph)


X = np.arange(24, dtype=np.float32).reshape(4, 2, 1, 3)


def test_other_files(tmp_path: Path, graph: Graph) -> None:
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_array_equal(load_samples(tmp_path / "x.npy", graph).x, X)
    path = saved(tmp_path, images=X, y=np.zeros(4, int))
    found = load_samples(SampleFile(path, input_key="images"), graph)
    np.testing.assert_array_equal(found.x, X)
    assert "y" in found.labels
    rows = [",".join(map(str, row)) for row in X.reshape(4, -1)]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    plain = load_samples(tmp_path / "x.csv", graph)
    np.testing.assert_array_equal(plain.x, X)
    assert not plain.labels
    (tmp_path / "y.csv").write_text("\n".join(["Label,a,b,c,d,e,f", *(f"{k},{row}" for k, row in enumerate(rows))]))
    named = load_samples(tmp_path / "y.csv", graph)
    np.testing.assert_array_equal(named.x, X)
    assert named.labels["y"].tolist() == [0, 1, 2, 3]


ROW = "1,2,3,4,5,6"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (f"a,b,c,d,e,f\n{ROW}\n\n", None),
        (f"\ufeff{ROW}\r\n{ROW}\r\n", None),
        (f"y,1,2,3,4,5,6\n3,{ROW}\n", 3),
        (f"a,b,c,d,e,f, Label\n{ROW},3.0\n", 3),
    ],
)
def test_tables(tmp_path: Path, graph: Graph, text: str, label: int | None) -> None:
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    samples = load_samples(tmp_path / "x.csv", graph)
    assert samples.x[0].ravel().tolist() == [1, 2, 3, 4, 5, 6]
    assert {name: own.tolist() for name, own in samples.labels.items()} == ({} if label is None else {"y": [label]})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"1,2,a,4,5,6\n{ROW}\n", ": line 1 has 'a' in place of a number in column 3: every line has the values of"),
        ("1,2\n\n1,\n", ": line 3 has '' in place of a number in column 2"),
        (f"1,{'x' * 5000}\n", f": line 1 has '{'x' * 37}...' in place of a number in column 2"),
        ("a,y\n1,cat\n", ": line 2 has 'cat' in place of a number in column 2: labels have to be whole class numbers"),
        ("1;2;3\n" * 2, ": line 2 has ';' between its values: save the table with commas, and with points in numbers"),
        ("a;b\n1,5;2,5\n", ": line 2 has ';' between its values"),
        ("a\tb\n1\t2\n", ": line 2 has tabs between its values"),
        ("1 2  3\n" * 2, ": line 2 has spaces between its values"),
        ("a,b\n1,2\n1\n", ": line 3 has 1 columns, the first line 2"),
        ("1,2\n", " has 2 columns of values, but the network wants 6 values (2x1x3): a column for each of them"),
        (
            f"class,a,b,c,d,e,f\n1,{ROW}\n",
            " has 7 columns of values, but the network wants 6 values (2x1x3): if one column has labels, call it y",
        ),
        ("", " has no lines: a line of numbers for each sample is needed"),
        ("a,b\n", " has nothing below the names of its columns: a line of numbers for each sample is needed"),
        (
            "y,a,b,c,d,e,f\n0.5,1,2,3,4,5,6\n",
            " has values that are not whole: labels have to be whole class numbers, 0",
        ),
        ("y,a,b,c,d,e,f\ninf,1,2,3,4,5,6\n", " has values that are not whole"),
        ("\ud800", " is no text in UTF-8: save the table as CSV in UTF-8"),
        ("1" * 200_000, " is no table (field larger than field limit (131072)): save it with commas"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, graph: Graph, text: str, error: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(InputError) as caught:
        load_samples(path, graph)
    assert f"{path}{error}" in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 200


def test_layouts(tmp_path: Path, graph: Graph) -> None:
    """The network reads height x width x channels here, and channels first in the second one."""
    channels_first = X.transpose(0, 3, 1, 2)
    path = saved(tmp_path, x=channels_first)
    np.testing.assert_array_equal(load_samples(SampleFile(path, layout=MapLayout.NCHW), graph).x, X)
    order = np.arange(6).reshape(3, 2, 1).transpose(1, 2, 0).ravel()
    first = with_input(graph, (3, 2, 1), order)
    np.testing.assert_array_equal(load_samples(path, first).x, channels_first)
    np.testing.assert_array_equal(
        load_samples(SampleFile(path, layout=MapLayout.NCHW), first).x, X.transpose(0, 3, 1, 2)
    )
    path = saved(tmp_path, x=X)
    np.testing.assert_array_equal(
        load_samples(SampleFile(path, layout=MapLayout.NHWC), first).x, X.transpose(0, 3, 1, 2)
    )
    (tmp_path / "x.csv").write_text("\n".join(",".join(map(str, row)) for row in X.reshape(4, -1)))
    table = SampleFile(tmp_path / "x.csv", layout=MapLayout.NHWC)
    np.testing.assert_array_equal(load_samples(table, first).x, channels_first)
    with pytest.raises(InputError, match=r"wants Nx3x2x1 \(nchw\): use --layout nhwc"):
        load_samples(path, first)
    vector = with_input(graph, (6,), np.arange(6))
    with pytest.raises(
        InputError, match="--layout nhwc: the input of one layer is no map of channels, leave --layout out"
    ):
        load_samples(SampleFile(path, layout=MapLayout.NHWC), vector)


def test_arrays(tmp_path: Path, graph: Graph) -> None:
    found = load_samples(sample_source(X.astype(float), np.array([0, 5, 1, 2])), graph)
    np.testing.assert_array_equal(found.x, X)
    assert found.labels["y"].tolist() == [0, 5, 1, 2]
    assert not load_samples(sample_source(X), graph).labels
    np.testing.assert_array_equal(load_samples(sample_source(str(saved(tmp_path, x=X))), graph).x, X)
    first = with_input(graph, (3, 2, 1), np.arange(6).reshape(3, 2, 1).transpose(1, 2, 0).ravel())
    with pytest.raises(InputError, match=r"x of the array has the shape 4x2x1x3, .*: transpose it, its axes are nhwc"):
        load_samples(sample_source(X), first)
    with pytest.raises(UsageError, match=r"x\.npz has its own labels"):
        sample_source("x.npz", np.zeros(4, int))


def test_tables_over_the_limits(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    monkeypatch.setattr(sample_tables, "LINE_BYTES", 100)
    for row in ("1," * 60, '"1\n",' * 60):
        path.write_text(f"1,2,3,4,5,6\n{row}")
        with pytest.raises(InputError, match="has a row of more than 100 bytes, the limit: every line has the values"):
            load_samples(path, graph)
    monkeypatch.setattr(sample_tables, "TABLE_BYTES", 20)
    with pytest.raises(InputError, match=r"has more than 20 bytes, the limit of tables: save it as an \.npz file"):
        load_samples(path, graph)
