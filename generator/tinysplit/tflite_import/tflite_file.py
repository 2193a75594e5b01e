"""Read a .tflite file: its first subgraph as plain data. The schema is that of the package `tflite`."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.common.errors import InputError

IDENTIFIER = b"TFL3"
VERSION = 3  # of the schema; the only one with this identifier
SHARED = 64  # most times that the file's size may be read, as tables may share vectors
DAMAGED = (struct.error, IndexError, KeyError, ValueError, TypeError, OverflowError, AttributeError)
_OPERATOR_NAMES = {code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)}
_OPTION_NAMES = {code: name for name, code in vars(tflite.BuiltinOptions).items() if isinstance(code, int)}
_DTYPES = {
    getattr(tflite.TensorType, name.upper()): np.dtype(name)
    for name in ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "bool")
}
QUANTIZED = {np.dtype(name) for name in ("int8", "uint8", "int16", "uint16")}
Option = int | float | bool


@dataclass(frozen=True)
class TfliteTensor:
    """A tensor. The scales of a quantized one are along `axis`; one scale is for all elements."""

    name: str
    shape: tuple[int, ...]
    is_dynamic: bool  # beyond its batch
    dtype: np.dtype[np.generic] | None  # None of another type than numbers of 8 to 64 bits
    scales: NDArray[np.float32]
    zero_points: NDArray[np.int64]
    axis: int
    data: memoryview | None  # of a constant

    @property
    def is_quantized(self) -> bool:
        """Whether its integers of 8 or 16 bits stand for real values."""
        return self.scales.size > 0 and self.dtype in QUANTIZED

    @cached_property
    def constant(self) -> NDArray[np.generic] | None:
        """Its elements as they are stored, None of an activation."""
        if self.data is None or self.dtype is None:
            return None
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)

    def real(self, integers: NDArray[np.generic]) -> NDArray[np.float32]:
        """Return what its elements stand for: those with scales, biases of 32 bits among them, for real values."""
        if not self.scales.size:
            return integers.astype(np.float32)
        along = [-1 if axis == self.axis and self.scales.size > 1 else 1 for axis in range(integers.ndim)]
        scales, zero_points = (each.reshape(along) for each in (self.scales, self.zero_points))
        return ((integers.astype(np.float64) - zero_points) * scales).astype(np.float32)


@dataclass(frozen=True)
class TfliteOperator:
    """An operator with the indices of its tensors; -1 is one that it lacks."""

    kind: str
    number: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Option]

    @override
    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


@dataclass(frozen=True)
class TfliteFile:
    """The network of a file."""

    tensors: tuple[TfliteTensor, ...]
    operators: tuple[TfliteOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def parse(path: Path, contents: bytes) -> TfliteFile:
    """Return the network in the contents of the file `path`. Raises InputError where it is none, or damaged."""
    if contents[4:8] != IDENTIFIER:
        raise InputError(f"{path} is no .tflite file: it lacks the identifier TFL3")
    try:
        model = tflite.Model.GetRootAs(contents, 0)
        if model.Version() != VERSION:
            raise InputError(f"{path} has version {model.Version()} of TensorFlow Lite's schema: only 3 is known")
        return _Parser(path, model, SHARED * len(contents)).network()
    except DAMAGED:
        raise InputError(f"{path} is a damaged .tflite file: convert the network again") from None


class _Parser:
    """Reads tables. Those of a damaged file may share long vectors: what is read is limited by the file's size."""

    def __init__(self, path: Path, model: Any, left: int) -> None:  # noqa: ANN401 - the package has no types
        self._path, self._model, self._left = path, model, left

    def network(self) -> TfliteFile:
        """Return the first subgraph."""
        graph = self._model.Subgraphs(0)
        tensors = tuple(self._tensor(graph.Tensors(i)) for i in range(graph.TensorsLength()))
        operators = tuple(self._operator(graph.Operators(i), i) for i in range(graph.OperatorsLength()))
        inputs, outputs = self._integers(graph.InputsAsNumpy()), self._integers(graph.OutputsAsNumpy())
        used = [*inputs, *outputs, *(i for each in operators for i in each.outputs)]
        used += [i for each in operators for i in each.inputs if i != -1]
        if any(not 0 <= i < len(tensors) for i in used):
            raise IndexError
        return TfliteFile(tensors, operators, inputs, outputs)

    def _tensor(self, tensor: Any) -> TfliteTensor:  # noqa: ANN401
        name = self._text(tensor.Name())
        shape, signature = (self._integers(each) for each in (tensor.ShapeAsNumpy(), tensor.ShapeSignatureAsNumpy()))
        scales, zero_points, axis = np.zeros(0, np.float32), np.zeros(0, np.int64), 0
        quantization = tensor.Quantization()
        if quantization is not None and quantization.ScaleLength():
            scales, axis = quantization.ScaleAsNumpy(), quantization.QuantizedDimension()
            self._count(scales.size)
            zero_points = np.zeros(scales.size, np.int64)
            if quantization.ZeroPointLength():
                zero_points = np.broadcast_to(quantization.ZeroPointAsNumpy(), zero_points.shape)
        if min(shape, default=1) < 0 or not np.isfinite(scales).all() or (scales < 0).any():
            raise ValueError
        buffer = self._model.Buffers(tensor.Buffer())
        if buffer.Offset() > 1 or tensor.Sparsity() is not None:
            raise InputError(f"{self._path} has the tensor '{name}' in a form that is not supported: sparse, or large")
        data = memoryview(buffer.DataAsNumpy()).cast("B") if buffer.DataLength() else None
        dtype = _DTYPES.get(tensor.Type())
        if data is not None and dtype is not None and len(data) != prod(shape) * dtype.itemsize:
            raise ValueError
        return TfliteTensor(name, shape, -1 in signature[1:], dtype, scales, zero_points, axis, data)

    def _operator(self, operator: Any, number: int) -> TfliteOperator:  # noqa: ANN401
        code = self._model.OperatorCodes(operator.OpcodeIndex())
        builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())  # files before 2020 have the latter alone
        kind = _OPERATOR_NAMES.get(builtin, f"operator {builtin}")
        if kind == "CUSTOM":
            kind = f"CUSTOM {self._text(code.CustomCode())}"
        inputs, outputs = self._integers(operator.InputsAsNumpy()), self._integers(operator.OutputsAsNumpy())
        return TfliteOperator(kind, number, inputs, outputs, dict(_options(operator)))

    def _integers(self, vector: Any) -> tuple[int, ...]:  # noqa: ANN401 - 0 where the file has none
        if isinstance(vector, int):
            return ()
        self._count(vector.size)
        return tuple(vector.tolist())

    def _text(self, text: bytes | None) -> str:
        self._count(len(text or b""))
        return (text or b"").decode("utf-8", "replace")

    def _count(self, n: int) -> None:
        self._left -= n
        if self._left < 0:
            raise OverflowError


def _options(operator: Any) -> Iterator[tuple[str, Option]]:  # noqa: ANN401
    """Yield the options of one number each."""
    name, table = _OPTION_NAMES.get(operator.BuiltinOptionsType()), operator.BuiltinOptions()
    if not name or name == "NONE" or table is None:
        return
    options = getattr(tflite, name)()
    options.Init(table.Bytes, table.Pos)
    for field, getter in vars(type(options)).items():
        code = getattr(getter, "__code__", None)
        if code is not None and code.co_argcount == 1 and not field.startswith("_"):
            value = getattr(options, field)()
            if isinstance(value, int | float):
                yield field, value
