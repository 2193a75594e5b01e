"""Small .tflite files, written with the FlatBuffers schema of the package `tflite`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite


@dataclass(frozen=True)
class Quantization:
    """Scales of all elements, or along an axis."""

    scales: Sequence[float]
    zero_point: int = 0
    axis: int = 0


@dataclass
class TfliteBuilder:
    """Tensors and operators of a file; tensors are named by their index."""

    tensors: list[tuple[Any, ...]] = field(default_factory=list)
    operators: list[tuple[Any, ...]] = field(default_factory=list)
    states: set[int] = field(default_factory=set)  # tensors that stay from one inference to the next

    def tensor(self, shape: Sequence[int], dtype: str = "float32", quantization: Quantization | None = None) -> int:
        """Add an activation, and return its index."""
        self.tensors.append((shape, dtype, quantization, None))
        return len(self.tensors) - 1

    def state(self, shape: Sequence[int]) -> int:
        """Add a tensor of floats that stays from one inference to the next, and return its index."""
        index = self.tensor(shape)
        self.states.add(index)
        return index

    def constant(self, value: Any, quantization: Quantization | None = None) -> int:  # noqa: ANN401 (an array)
        """Add a constant, and return its index."""
        array = np.asarray(value)
        self.tensors.append((array.shape, array.dtype.name, quantization, array.tobytes()))
        return len(self.tensors) - 1

    def operator(
        self, kind: str, inputs: Sequence[int], output: int | Sequence[int], options: str = "", **fields: float
    ) -> None:
        """Add an operator; `options` is the name of its table in the schema."""
        self.operators.append((kind, inputs, [output] if isinstance(output, int) else output, options, fields))

    def save(self, path: Path, inputs: Sequence[int], outputs: Sequence[int], version: int = 3) -> Path:
        """Write the file."""
        b = flatbuffers.Builder(1024)
        buffers = [self._buffer(b, data) for data in (None, *(each[-1] for each in self.tensors))]
        tensors = [self._tensor(b, index) for index in range(len(self.tensors))]
        kinds = sorted({each[0] for each in self.operators})
        operators = [self._operator(b, each, kinds) for each in self.operators]
        graph = [_indices(b, inputs), _indices(b, outputs), _offsets(b, tensors), _offsets(b, operators)]
        tflite.SubGraphStart(b)
        for add, value in zip(("Inputs", "Outputs", "Tensors", "Operators"), graph, strict=True):
            getattr(tflite, f"SubGraphAdd{add}")(b, value)
        subgraphs = _offsets(b, [tflite.SubGraphEnd(b)])
        codes = _offsets(b, [self._code(b, kind) for kind in kinds])
        all_buffers = _offsets(b, buffers)
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, version)
        tflite.ModelAddOperatorCodes(b, codes)
        tflite.ModelAddSubgraphs(b, subgraphs)
        tflite.ModelAddBuffers(b, all_buffers)
        b.Finish(tflite.ModelEnd(b), b"TFL3")
        path.write_bytes(b.Output())
        return path

    def _buffer(self, b: Any, data: bytes | None) -> int:  # noqa: ANN401 (the package has no types)
        vector = b.CreateByteVector(data) if data is not None else None
        tflite.BufferStart(b)
        if vector is not None:
            tflite.BufferAddData(b, vector)
        return int(tflite.BufferEnd(b))

    def _tensor(self, b: Any, index: int) -> int:  # noqa: ANN401
        shape, dtype, quantization, data = self.tensors[index]
        name, sizes = b.CreateString(f"tensor {index}"), _indices(b, shape)
        parameters = None
        if quantization is not None:
            scales = b.CreateNumpyVector(np.array(quantization.scales, np.float32))
            zeros = b.CreateNumpyVector(np.full(len(quantization.scales), quantization.zero_point, np.int64))
            tflite.QuantizationParametersStart(b)
            tflite.QuantizationParametersAddScale(b, scales)
            tflite.QuantizationParametersAddZeroPoint(b, zeros)
            tflite.QuantizationParametersAddQuantizedDimension(b, quantization.axis)
            parameters = tflite.QuantizationParametersEnd(b)
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, sizes)
        tflite.TensorAddType(b, getattr(tflite.TensorType, dtype.upper()))
        tflite.TensorAddBuffer(b, 0 if data is None else index + 1)
        tflite.TensorAddName(b, name)
        tflite.TensorAddIsVariable(b, index in self.states)
        if parameters is not None:
            tflite.TensorAddQuantization(b, parameters)
        return int(tflite.TensorEnd(b))

    def _operator(self, b: Any, operator: tuple[Any, ...], kinds: list[str]) -> int:  # noqa: ANN401
        kind, inputs, outputs, name, fields = operator
        vectors = _indices(b, inputs), _indices(b, outputs)
        options = None
        if name:
            getattr(tflite, f"{name}Start")(b)
            for key, value in fields.items():
                getattr(tflite, f"{name}Add{key}")(b, value)
            options = getattr(tflite, f"{name}End")(b)
        tflite.OperatorStart(b)
        tflite.OperatorAddOpcodeIndex(b, kinds.index(kind))
        tflite.OperatorAddInputs(b, vectors[0])
        tflite.OperatorAddOutputs(b, vectors[1])
        if options is not None:
            tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, name))
            tflite.OperatorAddBuiltinOptions(b, options)
        return int(tflite.OperatorEnd(b))

    def _code(self, b: Any, kind: str) -> int:  # noqa: ANN401
        code = getattr(tflite.BuiltinOperator, kind)
        tflite.OperatorCodeStart(b)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(code, 127))
        tflite.OperatorCodeAddBuiltinCode(b, code)
        tflite.OperatorCodeAddVersion(b, 3 if kind in ("CONV_2D", "DEPTHWISE_CONV_2D") else 1)
        return int(tflite.OperatorCodeEnd(b))


def _indices(b: Any, values: Sequence[int]) -> int:  # noqa: ANN401
    return int(b.CreateNumpyVector(np.array(values, np.int32)))


def _offsets(b: Any, offsets: list[int]) -> int:  # noqa: ANN401
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())
