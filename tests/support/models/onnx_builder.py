"""Little ONNX networks for tests: one node after the other, each reading what the one before it wrote."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, DTypeLike, NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

Dimension = int | str | None
RNG = np.random.default_rng(0)


class OnnxBuilder:
    """A chain of nodes over `value`, the name of the value that was written last."""

    def __init__(self, shape: Sequence[Dimension], opset: int = 13, element: int = TensorProto.FLOAT) -> None:
        self.opset = opset
        self.inputs = [helper.make_tensor_value_info("x", element, shape)]
        self.initializers: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.outputs: list[str] = []
        self.value = "x"

    def constant(self, value: ArrayLike, dtype: DTypeLike = np.float32) -> str:
        """Add an initializer and return its name."""
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def shape(self, *sizes: int) -> str:
        """Add an int64 initializer and return its name."""
        return self.constant(sizes, np.int64)

    def node(
        self,
        operator: str,
        *operands: str,
        name: str | None = None,
        domain: str = "",
        **attributes: Any,  # noqa: ANN401 - as onnx.helper takes them
    ) -> str:
        """Add a node that reads `value` and then `operands`, or `operands` with `value` in the place of "@"."""
        inputs = [self.value, *operands]
        if "@" in operands:
            inputs = [self.value if operand == "@" else operand for operand in operands]
        name = f"{operator.lower()}_{len(self.nodes)}" if name is None else name
        output = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=name, domain=domain, **attributes))
        self.value = output
        return output

    def model(self) -> ModelProto:
        """Return the model; its output is `value` unless `outputs` says more."""
        outputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs or [self.value]
        ]
        graph = helper.make_graph(self.nodes, "test", self.inputs, outputs, self.initializers)
        others = ("com.example", "com.microsoft")
        domains = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in others)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=8)
        inferred = onnx.shape_inference.infer_shapes(model).graph.output
        for output, known in zip(model.graph.output, inferred, strict=True):
            output.type.tensor_type.shape.CopyFrom(known.type.tensor_type.shape)  # the checker wants one
        return model

    def save(self, folder: Path) -> Path:
        """Write the model into `folder`."""
        path = folder / "network.onnx"
        onnx.save(self.model(), path)
        return path


def weights(*shape: int) -> NDArray[np.float32]:
    return RNG.normal(size=shape).astype(np.float32)


def conv(
    builder: OnnxBuilder,
    out: int,
    in_: int,
    kernel: tuple[int, ...] = (3, 3),
    **attributes: Any,  # noqa: ANN401 - as onnx.helper takes them
) -> str:
    return builder.node(
        "Conv", builder.constant(weights(out, in_, *kernel)), builder.constant(weights(out)), **attributes
    )


def batch_normalization(builder: OnnxBuilder, channels: int) -> str:
    scale, shift, mean = (builder.constant(weights(channels)) for _ in range(3))
    variance = builder.constant(np.abs(weights(channels)) + 0.1)
    return builder.node("BatchNormalization", scale, shift, mean, variance, epsilon=1e-3)
