"""Functions of one value, which become look-up tables, and slopes below zero.

A function of a function is one function, as is what a join computes of functions of the same value: x * sigmoid(x).
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from math import erf, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import Lookup, PRelu
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.pointwise import MOST_STEPS, Function, Joined

FloatArray = NDArray[np.float64]

ENLARGED_BY_SLOPE = Refusal("enlarges its input {} by broadcasting its slope: not supported")
SLOPES = Refusal("has slopes of shape {}: supported are one for all or one per channel")
EXPONENTS = Refusal("has exponents of shape {}: only one for all is supported")
COMPARED = Refusal("compares {}: supported are an activation and a number")
CONSTANT_BASE = Refusal("raises a constant to the power of an activation: not supported")


def sigmoid(x: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def softplus(x: FloatArray) -> FloatArray:
    """Return log(1 + exp(x))."""
    return np.asarray(np.logaddexp(x, 0.0))


def elu(x: FloatArray, alpha: float = 1.0, gamma: float = 1.0, steepness: float = 1.0) -> FloatArray:
    """Return gamma * x above zero, gamma * alpha * (exp(steepness * x) - 1) below."""
    return np.asarray(gamma * np.where(x < 0, alpha * np.expm1(steepness * np.minimum(x, 0)), x))


def error_function(x: FloatArray) -> FloatArray:
    """Return 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x."""
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x))


def function(name: str, meaning: str, compute: Callable[..., FloatArray], **defaults: float) -> None:
    """Declare the operator `name`: a function of a value and of attributes with these defaults."""

    def convert(node: Node, builder: GraphBuilder) -> Tensor:
        values = {attribute: node.attributes.get(attribute, default) for attribute, default in defaults.items()}
        return _applied(node, builder, lambda x: compute(x, **values))

    convert.__doc__ = meaning
    operator(name, attributes=tuple(defaults), layers=(Lookup,))(convert)


function("Abs", "Magnitude of x.", np.abs)
function("Ceil", "Smallest integer that is not below x.", np.ceil)
function(
    "Celu",
    "Compute x above zero, alpha * (exp(x / alpha) - 1) below.",
    lambda x, alpha: elu(x, alpha, 1, 1 / alpha),
    alpha=1.0,
)
function("Cos", "Cosine.", np.cos)
function("Elu", "Compute x above zero, alpha * (exp(x) - 1) below.", elu, alpha=1.0)
function("Erf", "Error function.", error_function)
function("Exp", "Exponential function.", np.exp)
function("Floor", "Largest integer that is not above x.", np.floor)
function(
    "HardSigmoid",
    "max(0, min(1, alpha * x + beta)).",
    lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    alpha=0.2,
    beta=0.5,
)
function("HardSwish", "Compute x * max(0, min(1, x / 6 + 0.5)).", lambda x: x * np.clip(x / 6 + 0.5, 0, 1))
function("Log", "Natural logarithm.", np.log)
function("Mish", "Compute x * tanh(log(1 + exp(x))).", lambda x: x * np.tanh(softplus(x)))
function("Reciprocal", "1 / x.", np.reciprocal)
function("Round", "Nearest integer, the even one of two.", np.rint)
function(
    "Selu",
    "Compute gamma * x above zero, gamma * alpha * (exp(x) - 1) below.",
    elu,
    alpha=1.67326319217681884765625,
    gamma=1.05070102214813232421875,
)
function("Sigmoid", "1 / (1 + exp(-x)).", sigmoid)
function("Sign", "-1, 0 or 1.", np.sign)
function("Sin", "Sine.", np.sin)
function("Softplus", "log(1 + exp(x)).", softplus)
function("Softsign", "Compute x / (1 + |x|).", lambda x: x / (1 + np.abs(x)))
function("Sqrt", "Square root.", np.sqrt)
function("Tanh", "Hyperbolic tangent.", np.tanh)
function("ThresholdedRelu", "Compute x above alpha, 0 below.", lambda x, alpha: np.where(x > alpha, x, 0), alpha=1.0)


@operator("Gelu", attributes=("approximate",), layers=(Lookup,))
def gelu(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute x * (1 + erf(x / sqrt(2))) / 2, or what its approximation by tanh gives."""
    if node.attributes.get("approximate", b"none") == b"tanh":
        return _applied(node, builder, lambda x: x * sigmoid(sqrt(8 / pi) * (x + 0.044715 * x**3)))
    return _applied(node, builder, lambda x: x * (0.5 + 0.5 * error_function(x / sqrt(2))))


@operator("Pow", layers=(Lookup,), refusals=(CONSTANT_BASE, EXPONENTS))
def power(node: Node, builder: GraphBuilder) -> Tensor:
    """Raise to a constant power.

    Raises InputError for an exponent that is not the same for all elements.
    """
    if not isinstance(node.operands[0], Tensor):
        raise node.error(CONSTANT_BASE)
    exponents = node.constant(1).astype(np.float64)
    if (exponents != exponents.flat[0]).any() or exponents.ndim > node.rank:
        raise node.error(EXPONENTS, exponents.shape)
    return _applied(node, builder, lambda x: np.power(x, exponents.flat[0]))


@operator("LeakyRelu", attributes=("alpha",), layers=(PRelu,))
def leaky_relu(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute x above zero, alpha * x below."""
    return _prelu(node, builder, np.array(node.attributes.get("alpha", 0.01)))


@operator("PRelu", layers=(PRelu,), refusals=(ENLARGED_BY_SLOPE, SLOPES))
def prelu(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute x above zero, slope * x below; the slope is a constant, one for all or per channel.

    Raises InputError for slopes of other shapes.
    """
    return _prelu(node, builder, node.constant(1).astype(np.float64))


def comparison(name: str, meaning: str, compare: Callable[[FloatArray, FloatArray], NDArray[np.bool_]]) -> None:
    """Declare the operator `name`: 1 where an activation and a number compare so, else 0."""

    def convert(node: Node, builder: GraphBuilder) -> Tensor:
        is_first = isinstance(node.operands[0], Tensor)
        number = node.constant(int(is_first)).astype(np.float64)
        if number.size > 1:
            raise node.error(COMPARED, node.shapes)
        ordered = compare if is_first else lambda x, y: compare(y, x)
        return _applied(node, builder, lambda x: ordered(x, number.ravel()).astype(np.float64))

    convert.__doc__ = meaning
    operator(name, layers=(Lookup,), refusals=(COMPARED,))(convert)


comparison("Equal", "1 where x is a number, else 0.", np.equal)
comparison("Greater", "1 where x is above a number, else 0.", np.greater)
comparison("GreaterOrEqual", "1 where x is not below a number, else 0.", np.greater_equal)
comparison("Less", "1 where x is below a number, else 0.", np.less)
comparison("LessOrEqual", "1 where x is not above a number, else 0.", np.less_equal)


def _applied(node: Node, builder: GraphBuilder, function: Callable[[FloatArray], FloatArray]) -> Tensor:
    return builder.apply(Function(node.name, node.output, function), node.tensor)


def of_one_value(
    node: Node, builder: GraphBuilder, operation: Callable[[FloatArray, FloatArray], FloatArray]
) -> Tensor | None:
    """Return what `operation` makes of activations that are functions of one value; None if there is another one."""
    if len(node.tensors) != len(node.operands):
        return None
    first = node.tensor
    alternatives = [tensor.pending for tensor in node.tensors]
    common = len(list(takewhile(lambda steps: len(set(steps)) == 1, zip(*alternatives, strict=False))))
    branches = [steps[common:] for steps in alternatives]
    function = Joined(branches, operation)
    if (
        any(tensor.producer is not first.producer for tensor in node.tensors)
        or any(not np.array_equal(tensor.layout.order, first.layout.order) for tensor in node.tensors)
        or any(not step.is_scalar or step.output in builder.qdq.values for steps in branches for step in steps)
        or function.steps > MOST_STEPS
    ):
        return None
    step = Function(node.name, node.output, function, function.steps)
    return builder.apply(step, replace(first, pending=first.pending[:common]))


def _prelu(node: Node, builder: GraphBuilder, slope: FloatArray) -> Tensor:
    producer, shape, order = builder.as_stored(node.tensor)
    if np.broadcast_shapes(order.shape, slope.shape) != order.shape:
        raise node.error(ENLARGED_BY_SLOPE, node.tensor.layout)
    stored = np.empty(order.size)
    stored[order] = slope
    by_pixel = stored.reshape(-1, shape.channels)
    if (by_pixel != by_pixel[0]).any():
        raise node.error(SLOPES, slope.shape)
    layer = PRelu(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=shape,
        slopes=by_pixel[0].astype(np.float32),
    )
    return Tensor(Layout(order), producer=builder.append(layer))
