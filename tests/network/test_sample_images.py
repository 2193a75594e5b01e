"""Folders of images: pixels from 0 to 1, classes in sub-folders, and what is refused."""

import importlib.util
import struct
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kernel_cases.layer_cases import one_layer_graph
from tinysplit.common.choices import MapLayout
from tinysplit.common.errors import InputError, ToolError, UsageError
from tinysplit.network import sample_images
from tinysplit.network.graph import Graph
from tinysplit.network.layers import MaxPool, Shape, Window
from tinysplit.network.sample_files import SampleFile
from tinysplit.network.samples import Samples, load_samples

COLOUR = np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 15  # 3 x 2 pixels
GREY = COLOUR[..., 0]

needs_pillow = pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="needs pip install pillow")


def graph_of(height: int, width: int, channels: int) -> Graph:
    shape = Shape(height, width, channels)
    window = Window(kernel=(1, 1))
    return one_layer_graph(MaxPool(name="p", inputs=("x",), output="y", in_shape=shape, window=window))


def save(path: Path, pixels: NDArray[np.uint8]) -> None:
    from PIL import Image  # noqa: PLC0415 (may be missing)

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def loaded(folder: Path, channels: int = 1) -> Samples:
    return load_samples(folder, graph_of(2, 3, channels))


@needs_pillow
def test_classes_are_sub_folders_and_take_turns(tmp_path: Path) -> None:
    for number, name in enumerate(("b/1.png", "b/2.PNG", "b/3.png", "a/9.png", ".hidden/1.png")):
        save(tmp_path / name, GREY + np.uint8(number))
    samples = loaded(tmp_path)
    np.testing.assert_array_equal(samples.x[..., 0], np.float32(GREY + np.array([3, 0, 1, 2])[:, None, None]) / 255)
    assert samples.labels["y"].tolist() == [0, 1, 1, 1]


@needs_pillow
def test_images_without_classes_have_no_labels(tmp_path: Path) -> None:
    save(tmp_path / "1.png", COLOUR)
    save(tmp_path / "2.jpeg", COLOUR)
    save(tmp_path / "3.png", GREY)
    samples = loaded(tmp_path, channels=3)
    assert not samples.labels
    np.testing.assert_array_equal(samples.x[0], np.float32(COLOUR) / 255)
    np.testing.assert_array_equal(samples.x[2], np.repeat(GREY[..., None], 3, axis=2) / np.float32(255))


@needs_pillow
def test_a_network_with_channels_first_reads_images(tmp_path: Path) -> None:
    save(tmp_path / "1.png", COLOUR)
    order = np.arange(18).reshape(3, 2, 3).transpose(1, 2, 0).ravel()
    first = graph_of(2, 3, 3)
    first = replace(first, inputs=(replace(first.inputs[0], shape=(3, 2, 3), order=order),))
    np.testing.assert_array_equal(load_samples(tmp_path, first).x[0], np.float32(COLOUR.transpose(2, 0, 1)) / 255)
    with pytest.raises(
        UsageError, match=r"--layout nchw: .* is a folder of images, whose axes are known: leave --layout out"
    ):
        load_samples(SampleFile(tmp_path, layout=MapLayout.NCHW), first)
    vector = replace(first, inputs=(replace(first.inputs[0], shape=(18,)),))
    with pytest.raises(InputError, match="has images: the input of one layer is no map of channels, give arrays"):
        load_samples(tmp_path, vector)


@needs_pillow
@pytest.mark.parametrize(
    ("name", "pixels", "text"),
    [
        ("2.png", GREY.T, "2.png has 2 x 3 pixels, {folder}/1.png 3 x 2: resize all to the network's input"),
        ("2.png", COLOUR, "has the shape 2x2x3x3, but the network wants Nx2x3x1 (nhwc): convert the images to 3 x 2"),
        ("2.png", GREY.astype(np.uint16) << 8, "2.png has pixels of the type I;16: save it with 8 bits a channel"),
        ("a/1.png", GREY, "has sub-folders and the file 1.png: put images into sub-folders, or all here"),
    ],
)
def test_images_that_do_not_fit(tmp_path: Path, name: str, pixels: NDArray[np.uint8], text: str) -> None:
    save(tmp_path / "1.png", GREY)
    save(tmp_path / name, pixels)
    with pytest.raises(InputError) as caught:
        loaded(tmp_path)
    assert text.format(folder=tmp_path) in str(caught.value)


@needs_pillow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1.png", "1.png is no PNG or JPEG image, or a damaged one: save it again"),
        ("notes.txt", "notes.txt is no PNG or JPEG image: convert it, or leave it out"),
    ],
)
def test_files_that_are_no_images(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\nno chunks")
    with pytest.raises(InputError, match=text):
        loaded(tmp_path)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "1.png").touch()
    with pytest.raises(ToolError, match=r"images need Pillow, extra `images`: .* -m pip install"):
        loaded(tmp_path)


@needs_pillow
def test_decompression_bombs(tmp_path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 0, 0, 0, 0)
    chunks = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(bytes(999))), chunk(b"IEND", b""))
    (tmp_path / "1.png").write_bytes(b"".join((b"\x89PNG\r\n\x1a\n", *chunks)))
    with pytest.raises(InputError, match=r"1\.png (has \d+ pixels, the limit is|is no PNG or JPEG)"):
        loaded(tmp_path)
    save(tmp_path / "1.png", np.zeros((4097, 4097), np.uint8))
    with pytest.raises(InputError, match=r"1\.png has 16785409 pixels, the limit is 16777216: resize it"):
        loaded(tmp_path)


@needs_pillow
def test_too_many_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_images, "ARRAY_BYTES", 2 * GREY.size * 3 * 4)
    for number in range(2):
        save(tmp_path / f"{number}.png", GREY)
    assert len(loaded(tmp_path).x) == 2
    save(tmp_path / "2.png", GREY)
    with pytest.raises(InputError, match="has more images than fit 144 bytes in float32, the limit of samples: give"):
        loaded(tmp_path)


@needs_pillow
def test_other_formats_are_not_opened(tmp_path: Path) -> None:
    save(tmp_path / "1.gif", GREY)
    (tmp_path / "1.gif").rename(tmp_path / "1.png")
    with pytest.raises(InputError, match=r"1\.png is no PNG or JPEG image"):
        loaded(tmp_path)
