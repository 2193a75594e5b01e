"""Networks in QOperator format: operators on integers become float ones between DequantizeLinear and QuantizeLinear.

An operator as QLinearConv is by its definition (ONNX operators, and those of `com.microsoft` in ONNX Runtime) the float
operator of the dequantized operands, quantized; with these nodes, such a network is one in QDQ format.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnx import AttributeProto, ModelProto, NodeProto, helper, version_converter

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.onnx_file.integer_ends import IN_PAIRS
from tinysplit.network.onnx_file.opsets import CONVERTER_ERRORS, opset_of

UNARY = ("AveragePool", "GlobalAveragePool", "LeakyRelu", "Sigmoid", "Softmax")
FLOAT = {f"QLinear{name}": name for name in ("Add", "Concat", "Conv", "MatMul", "Mul", *UNARY)} | {"QGemm": "Gemm"}
LEAST_OPERANDS = dict.fromkeys(UNARY, 4) | {"Concat": 5, "Gemm": 6}  # of others 7
COPYING = {"ArgMax": (0,), "Pad": (0, 2), "Resize": (0,), "Split": (0,)}  # and which of their operands are integers
DOMAINS = ("", "ai.onnx", "com.microsoft")
DROPPED = {"channels_last", "opset"}  # attributes that the float operators do not have
REAL = " real"  # ends the names of values before QuantizeLinear, which the file has as integers alone
MOST_OPERANDS = 9
AXIS_OPSET = 13  # from which on DequantizeLinear has scales of channels


@dataclass(frozen=True)
class Integers:
    """A value of integers: its name, and those of scale and zero point, "" for 0; `axis` is that of the scales."""

    name: str
    scale: str
    zero_point: str = ""
    axis: int | None = None

    @property
    def operands(self) -> list[str]:
        """Inputs of DequantizeLinear."""
        return [self.name, self.scale, *filter(None, (self.zero_point,))]


def with_float_operators(model: ModelProto) -> None:
    """Replace the operators on integers of `model`, whose nodes are in a topological order.

    Those stay of which an attribute asks for something else than the float operator computes.
    Raises InputError where scales of channels need an opset to which ONNX's converter cannot convert the others.
    """
    vectors = {tensor.name for tensor in model.graph.initializer if len(tensor.dims) == 1 and tensor.dims[0] > 1}
    rewriting = _Rewriting(vectors)
    for node in model.graph.node:
        rewriting.add(node)
    if len(rewriting.nodes) == len(model.graph.node):
        return
    del model.graph.node[:], model.graph.value_info[:]
    model.graph.node.extend(rewriting.nodes)
    opset = opset_of(model)
    if opset < AXIS_OPSET and any(values.axis is not None for values in rewriting.real):
        try:
            model.CopyFrom(version_converter.convert_version(model, AXIS_OPSET))
        except CONVERTER_ERRORS as error:
            raise InputError(
                f"the network has opset {opset} and scales of channels ({one_line(error)}): quantize it with opset "
                f"{AXIS_OPSET} or later"
            ) from None


def name_in_file(name: str) -> str:
    """Return the name of a value, or of the integers that stand for it where the file has no other."""
    return name.removesuffix(REAL)


class _Rewriting:
    """Collects the nodes of the new model; `vectors` are the constants of one dimension, as scales of channels."""

    def __init__(self, vectors: set[str]) -> None:
        self.vectors = vectors
        self.nodes: list[NodeProto] = []
        self.written: dict[str, Integers] = {}  # what is known of integers, by name
        self.real: dict[Integers, str] = {}  # dequantized

    def add(self, node: NodeProto) -> None:
        """Add a node, or those that compute the same with floats."""
        operator = FLOAT.get(node.op_type, "")
        source = node.input[0] if node.input and node.output and node.domain in DOMAINS else ""
        if node.op_type in COPYING and source in self.written:
            self._copy(node)
        elif operator and source and _is_known(node, operator):
            operands, result = self._operands(node, operator)
            self._compute(node, operator, operands, [result] if result.scale else [])
        else:
            self.nodes.append(node)
            if node.op_type == "QuantizeLinear" and source and len(node.input) > 1:
                self.written[node.output[0]] = Integers(node.output[0], *node.input[1:3])
            elif node.op_type in IN_PAIRS and source in self.written:
                read = self.written[source]
                self.written[node.output[0]] = Integers(node.output[0], read.scale, read.zero_point)

    def _operands(self, node: NodeProto, operator: str) -> tuple[list[str], Integers]:
        """Add what dequantizes the operands; return the float ones, and the result, without a scale if it is floats."""
        inputs = [*node.input, *[""] * MOST_OPERANDS]
        output = node.output[0]
        if operator == "Concat":
            triples = [Integers(*node.input[i : i + 3]) for i in range(2, len(node.input), 3)]
            return [self._dequantized(each) for each in triples], Integers(output, *inputs[:2])
        first = Integers(*inputs[:3])
        if operator in UNARY:
            return [self._dequantized(first)], Integers(output, *inputs[3:5])
        is_transposed = operator == "Conv" or _attribute(node, "transB", 0)
        axis = (0 if is_transposed else -1) if inputs[4] in self.vectors else None
        second = Integers(inputs[3], inputs[4], inputs[5], axis)
        operands = [self._dequantized(first), self._dequantized(second)]
        bias = {"Conv": inputs[8], "Gemm": inputs[6]}.get(operator, "")
        if bias:
            factor = _attribute(node, "alpha", 1.0) if operator == "Gemm" else 1.0
            operands.append(self._bias(bias, first.scale, second.scale, factor))
        start = 7 if operator == "Gemm" else 6
        return operands, Integers(output, *inputs[start : start + 2])

    def _bias(self, name: str, scale: str, weight_scale: str, factor: float) -> str:
        """Dequantize a bias, whose scale is the product of those of activation and weights."""
        product, real = f"{name} scale of {scale}", f"{name} dequantized by {scale}"
        nodes = [helper.make_node("Mul", [scale, weight_scale], [product])]
        if factor != 1:
            nodes.append(helper.make_node("Constant", [], [f"{product} factor"], value_float=factor))
            nodes.append(helper.make_node("Mul", [product, f"{product} factor"], [f"{product} times it"]))
        values = Integers(name, nodes[-1].output[0], axis=0 if weight_scale in self.vectors else None)
        if not any(real in node.output for node in self.nodes):
            self.nodes.extend(nodes)
            self._append_dequantized(values, real)
        return real

    def _dequantized(self, integers: Integers) -> str:
        if integers not in self.real:
            self.real[integers] = f"{integers.name} dequantized {len(self.real)}"
            self._append_dequantized(integers, self.real[integers])
        return self.real[integers]

    def _append_dequantized(self, integers: Integers, name: str) -> None:
        node = helper.make_node("DequantizeLinear", integers.operands, [name], name=name)
        if integers.axis is not None:
            node.attribute.append(helper.make_attribute("axis", integers.axis))
        self.nodes.append(node)

    def _copy(self, node: NodeProto) -> None:
        """Add an operator that gives integers, but ArgMax, the format of those that it reads."""
        read = self.written[node.input[0]]
        copied = [
            self._dequantized(Integers(name, read.scale, read.zero_point))
            if name and index in COPYING[node.op_type]
            else name
            for index, name in enumerate(node.input)
        ]
        results = [Integers(name, read.scale, read.zero_point) for name in node.output]
        self._compute(node, node.op_type, copied, [] if node.op_type == "ArgMax" else results)

    def _compute(self, node: NodeProto, operator: str, operands: Sequence[str], results: Sequence[Integers]) -> None:
        """Add the float operator, and a QuantizeLinear behind each of its results that are integers."""
        names = [f"{result.name}{REAL}" for result in results] or list(node.output)
        computed = helper.make_node(operator, operands, names, name=node.name)
        computed.attribute.extend(_attributes(node))
        self.nodes.append(computed)
        for result in results:
            operands = [f"{result.name}{REAL}", *result.operands[1:]]
            name = f"{result.name} quantized"
            self.nodes.append(helper.make_node("QuantizeLinear", operands, [result.name], name=name))
            self.written[result.name] = result


def _is_known(node: NodeProto, operator: str) -> bool:
    """Return whether a node, which ONNX's checker does not know, has operands for what replaces it, and no layout."""
    n_operands = len(node.input)
    are_whole = n_operands >= LEAST_OPERANDS.get(operator, 7) and (operator != "Concat" or n_operands % 3 == 2)  # noqa: PLR2004 - result, then triples
    return are_whole and not _attribute(node, "channels_last", 0)


def _attribute(node: NodeProto, name: str, default: float) -> float:
    """Return a number that an attribute gives."""
    found = next((helper.get_attribute_value(each) for each in node.attribute if each.name == name), default)
    return float(found)


def _attributes(node: NodeProto) -> Iterator[AttributeProto]:
    return (attribute for attribute in node.attribute if attribute.name not in DROPPED)
