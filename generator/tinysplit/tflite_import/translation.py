"""The ONNX model that a .tflite network becomes, while operators are added to it.

Quantized tensors become QuantizeLinear and DequantizeLinear pairs with their scales and zero points. TensorFlow Lite
has channels last, ONNX first: operators on maps read and write values with channels first, with Transpose between,
which the ONNX import absorbs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import MODEL_BYTES, size_text
from tinysplit.tflite_import.kinds import KIND
from tinysplit.tflite_import.tflite_file import TfliteFile, TfliteOperator, TfliteTensor

FLOATS = {np.dtype(name) for name in ("float16", "float32", "float64")}
TO_MAP, FROM_MAP = (0, 3, 1, 2), (0, 2, 3, 1)


class RefusedError(Exception):
    """An operator that has no translation; the text says why."""


class Translation:
    """The ONNX model as far as it is translated: values by the indices of tensors."""

    def __init__(self, file: TfliteFile) -> None:
        self.file = file
        self.kind = ""  # of the operator that is translated
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.constants = {i: each.constant for i, each in enumerate(file.tensors) if each.data is not None}
        self._bytes = 0
        self._taken: dict[str, int] = {}  # names, with the numbers behind them
        self._real: dict[tuple[int, bool], str] = {}  # the real values, perhaps as maps with channels first
        self._integers: dict[int, tuple[str, bool]] = {}
        self._tensor_names = [self._unique(each.name or "tensor") for each in file.tensors]

    def tensor(self, index: int) -> TfliteTensor:
        """Return a tensor of the file."""
        return self.file.tensors[index]

    def known(self, index: int) -> NDArray[Any]:
        """Return a constant as it is stored. Raises RefusedError for an activation."""
        value = self.constants.get(index)
        if value is None:
            raise RefusedError(f"computes its operand '{self.tensor(index).name}': only constants are supported there")
        return value

    def is_known(self, index: int) -> bool:
        """Whether a tensor does not depend on the network's input."""
        return index in self.constants

    def reads_unknown(self, operator: TfliteOperator) -> bool:
        """Whether an operator reads what has no translation."""
        values = {index for index, _ in self._real}
        return any(i != -1 and i not in values and not self.is_known(i) for i in operator.inputs)

    def read(self, index: int, *, is_map: bool = False) -> str:
        """Return the name of the real values of a tensor, with channels first if `is_map`."""
        if (index, is_map) not in self._real:
            if (index, not is_map) in self._real:
                given, order = self._real[index, not is_map], TO_MAP if is_map else FROM_MAP
                self._real[index, is_map] = self.node("Transpose", [given], perm=order)
            else:
                value = self.tensor(index).real(self.known(index))
                self._real[index, is_map] = self.constant(value.transpose(TO_MAP) if is_map else value)
        return self._real[index, is_map]

    def write(self, index: int, value: str, *, is_map: bool = False) -> None:
        """Let a tensor be `value`, behind a pair if it is quantized."""
        tensor = self.tensor(index)
        if tensor.is_quantized:
            operands = self._format(tensor)
            integers = self.node("QuantizeLinear", [value, *operands])
            self._integers[index] = integers, is_map
            value = self.node("DequantizeLinear", [integers, *operands])
        elif tensor.dtype not in FLOATS:
            raise RefusedError(f"gives {tensor.dtype}: supported are floats, and quantized integers of 8 and 16 bits")
        self._real[index, is_map] = value

    def write_number(self, index: int, value: str) -> None:
        """Let a tensor of whole numbers, which are no steps of a format, be `value` as float."""
        self._real[index, False] = self.node("Cast", [value], to=TensorProto.FLOAT)

    def alias(self, index: int, other: int) -> None:
        """Let a tensor have the real values of another one."""
        for is_map in (False, True):
            if (other, is_map) in self._real:
                self._real[index, is_map] = self._real[other, is_map]

    def weights(self, index: int, order: tuple[int, ...]) -> str:
        """Return the name of weights in another order of axes, dequantized."""
        tensor, stored = self.tensor(index), self.known(index)
        if not tensor.is_quantized:
            return self.constant(stored.transpose(order).astype(np.float32))
        given = [self.constant(stored.transpose(order)), *self._format(tensor)]
        attributes = {"axis": order.index(tensor.axis)} if tensor.scales.size > 1 else {}
        return self.node("DequantizeLinear", given, **attributes)

    def _format(self, tensor: TfliteTensor) -> list[str]:
        shape = () if tensor.scales.size == 1 else tensor.scales.shape
        arrays = tensor.scales.reshape(shape), tensor.zero_points.reshape(shape).astype(tensor.dtype)
        return [self.constant(each) for each in arrays]

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant, and return its name. Raises InputError for more bytes than the limit."""
        self._bytes += value.nbytes
        if self._bytes > MODEL_BYTES:
            raise InputError(f"its constants have more than {size_text(MODEL_BYTES)}: give a smaller network")
        name = self._unique("constant")
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
        return name

    def node(self, op_type: str, inputs: list[str], *, n_outputs: int = 1, **attributes: Any) -> str:  # noqa: ANN401
        """Add a node, and return the name of its (first) output."""
        return self.node_outputs(op_type, inputs, n_outputs, **attributes)[0]

    def node_outputs(self, op_type: str, inputs: list[str], n_outputs: int, **attributes: Any) -> list[str]:  # noqa: ANN401
        """Add a node, and return the names of its outputs."""
        name = self._unique(op_type)
        outputs = [self._unique(f"{name} output") for _ in range(n_outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, outputs, name=name, **attributes))
        self.nodes[-1].metadata_props.add(key=KIND, value=self.kind)
        return outputs

    def given(self, index: int) -> ValueInfoProto:
        """Return an input of the network. Raises InputError where its type or a size is not known."""
        tensor, name = self.tensor(index), self._tensor_names[index]
        if tensor.is_dynamic or tensor.dtype is None:
            raise InputError(f"its input '{name}' has a dynamic size or an unknown type: convert it with fixed sizes")
        self._real[index, False] = name
        if tensor.is_quantized:
            self._real[index, False] = self.node("DequantizeLinear", [name, *self._format(tensor)])
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(tensor.dtype), tensor.shape)

    def result(self, index: int) -> ValueInfoProto:
        """Return an output of the network."""
        tensor, name = self.tensor(index), self._tensor_names[index]
        if tensor.is_quantized and index not in self._integers:  # of an operator that changes the type alone
            self.write(index, self.read(index))
        value, is_map = self._integers.get(index) or (self.read(index), False)
        op_type, attributes = ("Transpose", {"perm": FROM_MAP}) if is_map else ("Identity", {})
        added: Any = attributes  # the names of attributes are those of the operator
        self.nodes.append(helper.make_node(op_type, [value], [name], name=self._unique(op_type), **added))
        dtype = helper.np_dtype_to_tensor_dtype(tensor.dtype) if tensor.is_quantized else TensorProto.FLOAT
        return helper.make_tensor_value_info(name, dtype, tensor.shape)

    def _unique(self, base: str) -> str:
        name = base
        while name in self._taken:
            self._taken[base] += 1
            name = f"{base}_{self._taken[base]}"
        self._taken[name] = 0
        return name
