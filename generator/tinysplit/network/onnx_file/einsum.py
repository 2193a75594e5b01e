"""Einsum of two operands as a product of matrices: their axes in another order, some of them together.

abc,bcd->ad: axes that both have are those of the terms, or of a batch if the result has them too
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, helper

OPERANDS = 2

Constant = Callable[[str, NDArray[np.int64]], str]  # adds one of a name, and returns that


def product_of_matrices(
    node: NodeProto, sizes: Sequence[Sequence[int]], constant: Constant, *, swaps: bool
) -> Iterator[NodeProto]:
    """Yield what computes an Einsum of operands of these sizes, or the node itself for another form.

    `swaps`: the second operand is the first one of the product. The second one may be a constant.
    """
    equation = next((each.s.decode() for each in node.attribute if each.name == "equation"), "").replace(" ", "")
    given, _, result = equation.partition("->")
    operands = list(zip(given.split(","), sizes, node.input, strict=False))[:: -1 if swaps else 1]
    if not _is_product(given.split(","), result, sizes):
        yield node
        return
    (a, a_sizes, a_name), (b, b_sizes, b_name) = operands
    size = dict(zip(a + b, (*a_sizes, *b_sizes), strict=True))
    batch = [axis for axis in result if axis in a and axis in b]
    terms = [axis for axis in a if axis in b and axis not in result]
    rows, columns = ([axis for axis in own if axis not in other] for own, other in ((a, b), (b, a)))
    y = node.output[0]

    def lengths(*groups: Sequence[str]) -> list[int]:
        return [size[axis] for axis in batch] + [prod(size[axis] for axis in group) for group in groups]

    for name, own, first, second, found in (
        (a_name, a, rows, terms, f"{y} first"),
        (b_name, b, terms, columns, f"{y} second"),
    ):
        order = [own.index(axis) for axis in (*batch, *first, *second)]
        yield helper.make_node("Transpose", [name], [f"{found} in order"], name=f"{found} in order", perm=order)
        shape = constant(f"{found} shape", np.array(lengths(first, second), np.int64))
        yield helper.make_node("Reshape", [f"{found} in order", shape], [found], name=found)
    yield helper.make_node("MatMul", [f"{y} first", f"{y} second"], [f"{y} product"], name=node.name)
    axes = [*batch, *rows, *columns]
    whole = constant(f"{y} shape", np.array([size[axis] for axis in axes], np.int64))
    yield helper.make_node("Reshape", [f"{y} product", whole], [f"{y} whole"], name=f"{y} whole")
    order = [axes.index(axis) for axis in result]
    yield helper.make_node("Transpose", [f"{y} whole"], [y], name=f"{y} in order", perm=order)


def _is_product(operands: Sequence[str], result: str, sizes: Sequence[Sequence[int]]) -> bool:
    """Return whether there are two operands of known sizes, whose axes are letters of their own and none is summed."""
    if len(operands) != OPERANDS or not result.isalpha() or len(set(result)) < len(result):
        return False
    for own, other, known in zip(operands, operands[::-1], sizes, strict=False):
        has_letters = own.isalpha() and len(set(own)) == len(own) == len(known) and all(known)
        if not has_letters or not set(own) <= set(other + result):
            return False
    return set(result) <= set("".join(operands))
