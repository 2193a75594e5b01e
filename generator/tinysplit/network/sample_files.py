"""Files of samples: .npz with named arrays, .npy with one array, .csv with a row for each sample; images; or arrays."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.choices import INPUT_ARRAY, LABEL_ARRAY, MapLayout
from tinysplit.common.errors import InputError, UsageError, one_line
from tinysplit.common.input_files.arrays import array_names, read_array, read_arrays
from tinysplit.network.sample_images import read_images
from tinysplit.network.sample_tables import read_table
from tinysplit.settings.samples import INPUT_KEY, LAYOUT
from tinysplit.settings.setting import either

_EXACT_BELOW = 2**53  # whole numbers of which float64 leaves none out
_KINDS = "an .npz, .npy or .csv file with samples is needed, or a folder of images"

Array = NDArray[np.generic]


@dataclass(frozen=True)
class SampleFile:
    """A file of samples, the name of its array of inputs if it has several, and the order of their axes.

    Without `layout`, the order is that of the network's input. A folder of images has its own.
    """

    path: Path
    input_key: str = INPUT_ARRAY
    layout: MapLayout | None = None

    @property
    def title(self) -> str:
        """What messages call it."""
        return str(self.path)

    @property
    def has_rows(self) -> bool:
        """Whether every sample is a row of numbers, whatever the shape of the network's input."""
        return self.path.suffix.lower() == ".csv"

    @property
    def has_images(self) -> bool:
        """Whether it is a folder of images."""
        return self.path.is_dir()

    @property
    def axes(self) -> MapLayout | None:
        """The order of the axes of maps; None for that of the network's input.

        Raises UsageError for a layout of images.
        """
        if self.has_images and self.layout:
            raise UsageError(
                f"{LAYOUT} {self.layout}: {self.path} is a folder of images, whose axes are known: leave {LAYOUT} out"
            )
        return MapLayout.NHWC if self.has_images else self.layout

    def read(self) -> dict[str, Array]:
        """Return the array `x` of inputs, and the array `y` of labels if there is one.

        Raises InputError for a file that has no such arrays, ToolError for images without Pillow.
        """
        if self.has_images:
            return _arrays(*read_images(self.path))
        if not self.path.is_file():
            raise InputError(f"{self.path} is missing: {_KINDS}")
        return self._read_csv() if self.has_rows else self._read_numpy()

    def _read_csv(self) -> dict[str, Array]:
        x, y = read_table(self.path)
        are_whole = y is not None and bool(((np.abs(y) < _EXACT_BELOW) & (y == np.floor(y))).all())
        return _arrays(x, y.astype(np.int64) if y is not None and are_whole else y)

    def _read_numpy(self) -> dict[str, Array]:
        try:
            held = array_names(self.path)
            if held is None:
                return {INPUT_ARRAY: read_array(self.path)}
            if self.input_key not in held:
                remedy = either(f"name it with {INPUT_KEY.option}", "give that array in place of the file")
                raise InputError(
                    f"{self.path} holds no array '{self.input_key}' with samples (it holds: "
                    f"{', '.join(held) or 'nothing'}): {remedy}"
                )
            arrays = read_arrays(self.path, {self.input_key, LABEL_ARRAY})
            names = {INPUT_ARRAY: self.input_key, LABEL_ARRAY: LABEL_ARRAY}
            return {key: arrays[name] for key, name in names.items() if name in arrays}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            # NumPy would have the reader load Python objects, which may run whatever they hold.
            reason = "" if not str(error) or "allow_pickle" in str(error) else f" ({one_line(error)})"
            what, remedy = self._numpy_words
            raise InputError(f"{self.path} is no {what} of numbers{reason}: {remedy}") from None

    @property
    def _numpy_words(self) -> tuple[str, str]:
        """What a file with this suffix is, and how it is made."""
        suffix = self.path.suffix.lower()
        if suffix == ".npy":
            return ".npy file", "save an array of numbers with numpy.save(path, x)"
        if suffix == ".npz":
            return ".npz file", "save arrays of numbers with numpy.savez(path, x=...)"
        return "file of arrays", _KINDS


@dataclass(frozen=True, eq=False)
class SampleArrays:
    """Samples in memory, in place of a file: `x` and `y` as an .npz file has them, in the order of the input's axes."""

    x: Array
    y: Array | None = None

    title: ClassVar[str] = "the array"
    has_rows: ClassVar[bool] = False
    has_images: ClassVar[bool] = False
    axes: ClassVar[MapLayout | None] = None

    def read(self) -> dict[str, Array]:
        """Return the array `x` of inputs, and the array `y` of labels if there is one."""
        return _arrays(self.x, self.y)


def _arrays(x: Array, y: Array | None) -> dict[str, Array]:
    return {INPUT_ARRAY: x} | ({} if y is None else {LABEL_ARRAY: y})


SampleSource = SampleFile | SampleArrays
GivenSamples = str | Path | Array


def sample_source(samples: GivenSamples, labels: Array | None = None) -> SampleSource:
    """Return samples that a script gives: the path of a file, or an array, and for that one label a sample.

    Raises UsageError for labels beside a file, which has its own.
    """
    if isinstance(samples, str | Path):
        if labels is not None:
            raise UsageError(f"{samples} has its own labels `y`: give labels with an array only")
        return SampleFile(Path(samples))
    return SampleArrays(_array(samples, "the samples"), None if labels is None else _array(labels, "labels"))


def _array(given: object, what: str) -> Array:
    try:
        return np.asarray(given)
    except ValueError:  # lists of different lengths
        raise UsageError(f"{what} are no array: give lists of the same length, or np.stack(...)") from None
