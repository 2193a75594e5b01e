"""Files of samples: .npz with named arrays, .npy with one array, .csv with a row for each sample; images; or arrays."""

import zipfile
from collections.abc import Collection, Mapping
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
class SampleEnds:
    """What samples are for: the names of a network, of its inputs, and of its outputs, which may have labels."""

    network: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def named(self, x: Array, y: Array | None, title: str) -> dict[str, Array]:
        """Return arrays without names by those of the input and the output. Raises InputError where there are more."""
        given = {INPUT_ARRAY: x} | ({} if y is None else {LABEL_ARRAY: y})
        return {end: given[name] for end, name in self.arrays(tuple(given), title, INPUT_ARRAY).items()}

    def arrays(self, held: Collection[str], title: str, input_key: str) -> dict[str, str]:
        """Return which of the arrays that samples hold is that of each input, and of each output with labels.

        The array of a single input is called `input_key`, or as the input is; those of several as they are, or x, x2,
        x3 and so on. Labels of a single output are called y, those of several as the outputs are. Raises InputError
        where arrays are missing, for labels y of several outputs, and beside several inputs for unknown arrays.
        """
        inputs = self._input_arrays(held, title, input_key)
        names = self.outputs if len(self.outputs) > 1 else (LABEL_ARRAY,)
        rest = set(held).difference(inputs.values())
        labels = {output: name for output, name in zip(self.outputs, names, strict=True) if name in rest}
        if LABEL_ARRAY in rest.difference(names):
            raise InputError(
                f"{title} has labels '{LABEL_ARRAY}', but {self.network} has several outputs: name labels as the "
                f"output whose classes they are ({', '.join(self.outputs)})"
            )
        unknown = set(held).difference(inputs.values(), labels.values())
        if len(inputs) > 1 and unknown:
            raise InputError(
                f"{title} has an array '{min(unknown)}', but {self.network} has no such input or output: its inputs "
                f"are {', '.join(self.inputs)}"
            )
        return {**inputs, **labels}

    def _input_arrays(self, held: Collection[str], title: str, input_key: str) -> dict[str, str]:
        if len(self.inputs) == 1:
            own = self.inputs[0]
            name = own if own in held and input_key == INPUT_ARRAY and input_key not in held else input_key
            if name not in held:
                remedy = either(f"name it with {INPUT_KEY.option}", "give that array itself")
                raise InputError(
                    f"{title} holds no array '{name}' with samples (it holds: {', '.join(held) or 'nothing'}): {remedy}"
                )
            return {self.inputs[0]: name}
        if input_key != INPUT_ARRAY:
            raise InputError(f"{INPUT_KEY} {input_key}: {self.network} has several inputs, leave {INPUT_KEY} out")
        numbered = [f"{INPUT_ARRAY}{number}" if number > 1 else INPUT_ARRAY for number, _ in enumerate(self.inputs, 1)]
        for names in (self.inputs, numbered):
            if set(names) <= set(held):
                return dict(zip(self.inputs, names, strict=True))
        lacking = next(name for name in self.inputs if name not in held)
        raise InputError(
            f"{title} lacks the input '{lacking}' of {self.network}: give an array for each input, by its name "
            f"({', '.join(self.inputs)})"
        )


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

    def read(self, ends: SampleEnds) -> dict[str, Array]:
        """Return the array of each input, and of each output with labels, by their names.

        Raises InputError for a file that has no such arrays, ToolError for images without Pillow.
        """
        if self.has_images:
            return ends.named(*read_images(self.path), self.title)
        if not self.path.is_file():
            raise InputError(f"{self.path} is missing: {_KINDS}")
        return self._read_csv(ends) if self.has_rows else self._read_numpy(ends)

    def _read_csv(self, ends: SampleEnds) -> dict[str, Array]:
        x, y = read_table(self.path)
        are_whole = y is not None and bool(((np.abs(y) < _EXACT_BELOW) & (y == np.floor(y))).all())
        return ends.named(x, y.astype(np.int64) if y is not None and are_whole else y, self.title)

    def _read_numpy(self, ends: SampleEnds) -> dict[str, Array]:
        try:
            held = array_names(self.path)
            if held is None:
                return ends.named(read_array(self.path), None, self.title)
            names = ends.arrays(held, self.title, self.input_key)
            arrays = read_arrays(self.path, set(names.values()))
            return {end: arrays[name] for end, name in names.items()}
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
    """Samples in memory, in place of a file: inputs `x` and labels `y` in the order of the axes of inputs.

    Those of several inputs, or of several outputs, by their names.
    """

    x: Array | Mapping[str, Array]
    y: Array | Mapping[str, Array] | None = None

    has_rows: ClassVar[bool] = False
    has_images: ClassVar[bool] = False
    axes: ClassVar[MapLayout | None] = None

    @property
    def title(self) -> str:
        """What messages call it."""
        return "the dict of arrays" if isinstance(self.x, Mapping) else "the array"

    def read(self, ends: SampleEnds) -> dict[str, Array]:
        """Return the array of each input, and of each output with labels, by their names. Raises InputError."""
        given = dict(self.x) if isinstance(self.x, Mapping) else {INPUT_ARRAY: self.x}
        if self.y is not None:
            given |= self._labels(self.y, ends)
        return {end: given[name] for end, name in ends.arrays(given, self.title, INPUT_ARRAY).items()}

    def _labels(self, y: Array | Mapping[str, Array], ends: SampleEnds) -> Mapping[str, Array]:
        if not isinstance(y, Mapping):
            return {LABEL_ARRAY: y}
        unknown = next((name for name in y if name not in ends.outputs), None)
        if unknown is not None:
            raise InputError(
                f"labels of '{unknown}': {ends.network} has no such output, but {', '.join(ends.outputs)}: name labels "
                "as the output whose classes they are"
            )
        return y if len(ends.outputs) > 1 else dict(zip([LABEL_ARRAY], y.values(), strict=False))


SampleSource = SampleFile | SampleArrays
GivenArrays = Array | Mapping[str, Array]
GivenSamples = str | Path | GivenArrays


def sample_source(samples: GivenSamples, labels: GivenArrays | None = None) -> SampleSource:
    """Return samples that a script gives: the path of a file, or arrays, and for these one label a sample.

    Arrays of several inputs, and labels of several outputs, are given by their names. Raises UsageError for labels
    beside a file, which has its own.
    """
    if isinstance(samples, str | Path):
        if labels is not None:
            raise UsageError(f"{samples} has its own labels `y`: give labels with an array only")
        return SampleFile(Path(samples))
    return SampleArrays(_given(samples, "the samples"), None if labels is None else _given(labels, "labels"))


def _given(given: GivenArrays, what: str) -> GivenArrays:
    if isinstance(given, Mapping):
        return {name: _array(each, f"{what} '{name}'") for name, each in given.items()}
    return _array(given, what)


def _array(given: object, what: str) -> Array:
    try:
        return np.asarray(given)
    except ValueError:  # lists of different lengths
        raise UsageError(f"{what} are no array: give lists of the same length, or np.stack(...)") from None
