"""Samples: inputs of the network, and their labels if known."""

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.graph import Graph


@dataclass(frozen=True, eq=False)
class Samples:
    """`x` is N x sample_shape in the ONNX input's order; `y` are N labels, indices of the network's outputs."""

    x: NDArray[np.float32]
    y: NDArray[np.int64] | None

    def first(self, count: int) -> Self:
        """Return the first `count` samples."""
        return replace(self, x=self.x[:count], y=None if self.y is None else self.y[:count])


def load_samples(path: Path, graph: Graph) -> Samples:
    """Read an .npz file with `x` and optionally `y`. Raises InputError where they do not match the network."""
    arrays = _read(path)
    x = _checked_x(path, arrays["x"], graph.sample_shape)
    y = _checked_y(path, arrays["y"], len(x), int(np.prod(graph.output_shape))) if "y" in arrays else None
    return Samples(x, y)


def _read(path: Path) -> dict[str, NDArray[np.generic]]:
    if not path.is_file():
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'missing'}: an .npz file with samples is needed")
    try:
        with path.open("rb") as stream:
            file = np.load(stream, allow_pickle=False)
            if not isinstance(file, NpzFile):
                raise InputError(f"{path} is no .npz file but a single array: save it with numpy.savez(path, x=...)")
            if "x" not in file:
                raise InputError(f"{path} holds no array 'x' with samples (it holds: {', '.join(file) or 'nothing'})")
            return {name: file[name] for name in ("x", "y") if name in file}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        # NumPy would have the reader load Python objects, which may run whatever they hold.
        reason = "" if "allow_pickle" in str(error) else f" ({one_line(error)})"
        raise InputError(
            f"{path} is no .npz file of numbers{reason}: save arrays of numbers with numpy.savez(path, x=...)"
        ) from None


def _checked_x(path: Path, x: NDArray[np.generic], sample_shape: tuple[int, ...]) -> NDArray[np.float32]:
    if x.dtype.kind not in "fiu":
        raise InputError(f"x of {path} has elements of type {x.dtype}: numbers are needed")
    if x.shape[1:] != sample_shape:
        raise InputError(
            f"x of {path} has the shape {_text(x.shape)}, but the network wants {_text(('N', *sample_shape))}"
        )
    if len(x) == 0:
        raise InputError(f"{path} holds no samples: at least one is needed")
    with np.errstate(over="ignore"):  # values outside the float32 range become infinity, and are rejected
        floats = x.astype(np.float32)
    broken = np.flatnonzero(~np.isfinite(floats).reshape(len(x), -1).all(axis=1))
    if broken.size:
        raise InputError(f"x of {path} has NaN or infinity in {broken.size} samples, first in sample {broken[0] + 1}")
    return floats


def _checked_y(path: Path, y: NDArray[np.generic], count: int, classes: int) -> NDArray[np.int64]:
    if y.shape != (count,):
        raise InputError(
            f"y of {path} has the shape {_text(y.shape)}, but x holds {count} samples: expected is one label per sample"
        )
    if y.dtype.kind not in "iu":
        raise InputError(f"y of {path} has elements of type {y.dtype}: whole numbers are needed as labels")
    labels = y.astype(np.int64)
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            f"y of {path} has labels from {labels.min()} to {labels.max()}, "
            f"but the network has {classes} outputs (0 to {classes - 1})"
        )
    return labels


def _text(shape: tuple[int | str, ...]) -> str:
    return "x".join(str(size) for size in shape) or "()"
