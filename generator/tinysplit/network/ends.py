"""Inputs and outputs of a network. On the boards, and in samples, several of them lie side by side in one tensor."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALL_INPUTS = "all inputs"  # names of these tensors on the boards
ALL_OUTPUTS = "all outputs"


@dataclass(frozen=True)
class IntegerInput:
    """The integers that a network takes: a real value is `scale` times an integer less `zero_point`."""

    dtype: str
    scale: float
    zero_point: int

    def real(self, integers: NDArray[np.generic]) -> NDArray[np.float32]:
        """Return what integers stand for."""
        values: NDArray[np.float32] = (integers.astype(np.float32) - self.zero_point) * np.float32(self.scale)
        return values


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkEnd:
    """An input or output of the network as the ONNX file has it, and the order of its elements in memory.

    Of an input, `memory.flat = sample.flat[order]`; of an output, `onnx.flat = memory.flat[order]`.
    """

    name: str
    shape: tuple[int, ...]  # of one sample, without the batch
    order: NDArray[np.int64] = field(repr=False)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.order.size


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkInput(NetworkEnd):
    """An input; the value on the boards has its name."""

    integers: IntegerInput | None = None  # what it takes, where that is no float


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkOutput(NetworkEnd):
    """An output; `value` names the value on the boards that has its numbers."""

    value: str
    numbered_classes: int = 0  # of an output that is the number of one of them: the network has decided

    @property
    def has_classes(self) -> bool:
        """Whether it may say which class a sample has: by scores in a vector, not in a map or boxes, or by number."""
        return bool(self.numbered_classes) or sum(size > 1 for size in self.shape) == 1

    @property
    def class_count(self) -> int:
        """Number of classes that it may tell apart."""
        return self.numbered_classes or self.size

    def classes(self, values: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the class of each sample by the output's `values` (N x elements)."""
        return np.asarray(values[:, 0].astype(np.int64) if self.numbered_classes else values.argmax(axis=1))


def joint_order(ends: Sequence[NetworkEnd]) -> NDArray[np.int64]:
    """Return the order of all ends side by side."""
    starts = accumulate((end.size for end in ends), initial=0)
    return np.concatenate([start + end.order for start, end in zip(starts, ends, strict=False)])


def joint_shape(ends: Sequence[NetworkEnd]) -> tuple[int, ...]:
    """Return the shape of a sample or result: that of a single end, else all elements of several side by side."""
    return ends[0].shape if len(ends) == 1 else (sum(end.size for end in ends),)


def by_name(ends: Sequence[NetworkEnd], values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the values of each end (N x its shape) by its name, of samples or results with those of all (N x ...)."""
    starts = list(accumulate(end.size for end in ends))[:-1]
    pieces = np.split(values.reshape(len(values), -1), starts, axis=1)
    return {end.name: piece.reshape(-1, *end.shape) for end, piece in zip(ends, pieces, strict=True)}
