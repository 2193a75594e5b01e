"""Folders of images: samples of classes, one sub-folder each, or without labels."""

import warnings
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.extras import install_line
from tinysplit.common.input_files.limits import ARRAY_BYTES, IMAGE_BYTES, PIXELS, read_limited, size_text

WHITE = 255
_FLOAT32_BYTES = 4
_SUFFIXES = {".png", ".jpg", ".jpeg"}
_GREY_MODES, _COLOUR_MODES = {"1", "L", "LA"}, {"P", "RGB", "RGBA", "CMYK", "YCbCr"}  # all have 8 bits or less


def read_images(folder: Path) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
    """Return images, N x height x width x channels, with values from 0 to 1, and their N labels.

    There is one channel if all images are greyscale, else three. Labels are numbers of sub-folders in sorted order, and
    classes take turns, so that the first images are of all of them. Without sub-folders there are no labels, and images
    are in the order of their names.

    Raises InputError for other files and for images of several sizes, ToolError without Pillow.
    """
    entries = _entries(folder)
    classes = [path for path in entries if path.is_dir()]
    if classes and len(classes) < len(entries):
        file = next(path for path in entries if path not in classes)
        raise InputError(f"{folder} has sub-folders and the file {file.name}: put images into sub-folders, or all here")
    groups = [_entries(path) for path in classes] or [entries]
    if not any(groups):
        raise InputError(f"{folder} has no images: PNG or JPEG files are needed, in a sub-folder for each class")
    turns = sorted((turn, label) for label, group in enumerate(groups) for turn in range(len(group)))
    x = _pixels([groups[label][turn] for turn, label in turns])
    return x, np.array([label for _, label in turns]) if classes else None


def _entries(folder: Path) -> list[Path]:
    """Return the files and folders that are not hidden, by their names."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _pixels(paths: Sequence[Path]) -> NDArray[np.float32]:
    images: list[Any] = []
    for path in paths:
        image = _opened(path)
        images.append(image)
        if image.size != images[0].size:
            raise InputError(
                f"{path} has {_size(image)} pixels, {paths[0]} {_size(images[0])}: resize all to the network's input"
            )
        if len(images) * image.width * image.height * len("RGB") * _FLOAT32_BYTES > ARRAY_BYTES:
            raise InputError(
                f"{path.parent} has more images than fit {size_text(ARRAY_BYTES)} in float32, the limit of samples: "
                "give fewer"
            )
    mode = "L" if all(image.mode in _GREY_MODES for image in images) else "RGB"
    arrays = (np.asarray(image.convert(mode), np.float32) for image in images)
    return _stacked(arrays, (len(images), images[0].height, images[0].width, len(mode)))


def _check_pixels(path: Path, count: int) -> None:
    if count > PIXELS:
        raise InputError(f"{path} has {count} pixels, the limit is {PIXELS}: resize it to the network's input")


def _stacked(arrays: Iterable[NDArray[np.float32]], shape: tuple[int, ...]) -> NDArray[np.float32]:
    x = np.empty(shape, np.float32)
    for sample, array in zip(x, arrays, strict=True):
        np.divide(array.reshape(sample.shape), WHITE, out=sample)
    return x


def _size(image: Any) -> str:  # noqa: ANN401 (Pillow's image)
    return f"{image.width} x {image.height}"


def _opened(path: Path) -> Any:  # noqa: ANN401 (Pillow's image)
    """Return an image with its pixels. Raises InputError for another file, ToolError without Pillow."""
    try:
        from PIL import Image  # noqa: PLC0415 (an optional extra)
    except ImportError:
        raise ToolError(f"images need Pillow, extra `images`: {install_line('images')}") from None
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        raise InputError(f"{path} is no PNG or JPEG image: convert it, or leave it out")
    try:
        contents = BytesIO(read_limited(path, IMAGE_BYTES))  # of a file, Pillow would read as much as a chunk claims
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # at more pixels than the limit here
            with Image.open(contents, formats=("PNG", "JPEG")) as image:
                _check_pixels(path, image.width * image.height)
                image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise InputError(f"{path} is no PNG or JPEG image, or a damaged one: save it again") from None
    if image.mode not in _GREY_MODES | _COLOUR_MODES:
        raise InputError(f"{path} has pixels of the type {image.mode}: save it with 8 bits a channel")
    return image
