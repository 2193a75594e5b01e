"""What the functions in `onnx_import/operators/` do with an operator, read from their source code.

Their messages are what they refuse, the attributes of ONNX that they name are those that they follow, and the layer
classes that they call are what an operator becomes. So nothing is listed twice, and nothing can be out of date.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import FunctionType

import onnx

from tinysplit.network.layers import KINDS
from tinysplit.onnx_import import graph_builder, importer
from tinysplit.onnx_import import node as node_module
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.node import Node
from tinysplit.onnx_import.operators import OPERATORS
from tinysplit.onnx_import.opsets import FOLLOWED_OPSET
from tinysplit.onnx_import.pointwise import Affine, Clamp

_PACKAGE = "tinysplit.onnx_import"
_OWNERS: dict[str, type] = {
    "node": Node,
    "builder": GraphBuilder,
}  # classes of the variables whose methods are followed
_STEPS = {"Affine": Affine.layer, "Clamp": Clamp.layer}  # what steps become that fold into no layer before them
_GAP = "..."  # in place of values in messages


@dataclass(frozen=True)
class OperatorFacts:
    """An ONNX operator: what it computes, its attributes, the kinds of layers it may become, what is refused."""

    name: str
    meaning: str
    attributes: tuple[str, ...]  # that are followed
    ignored: tuple[str, ...]  # that change nothing in an inference, or only in uses that are refused
    kinds: tuple[str, ...]  # none if it only changes the layout
    refused: tuple[str, ...]  # messages of this operator, "..." in place of values


def operator_facts() -> tuple[OperatorFacts, ...]:
    """Return the facts of all operators, by name."""
    return tuple(_facts(name) for name in sorted(OPERATORS))


def general_refusals() -> tuple[str, ...]:
    """Return the messages that several operators have in common."""
    sources = [ast.parse(inspect.getsource(module)) for module in (importer, graph_builder, node_module)]
    return tuple(dict.fromkeys(text for source in sources for each in ast.walk(source) for text in _refusals(each)))


def _facts(name: str) -> OperatorFacts:
    reached = _reached(OPERATORS[name])
    nodes = [node for function in reached for node in ast.walk(_tree(function))]
    own = [node for function in reached if not _is_method(function) for node in ast.walk(_tree(function))]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    known = _attributes(name)
    return OperatorFacts(
        name=name,
        meaning=(inspect.getdoc(OPERATORS[name]) or "").partition("\n")[0].partition(" Raises ")[0],
        attributes=tuple(attribute for attribute in known if attribute in texts),
        ignored=tuple(attribute for attribute in known if attribute not in texts),
        kinds=tuple(dict.fromkeys(kind for node in own for kind in _made(node))),
        refused=tuple(dict.fromkeys(text for node in own for text in _refusals(node))),
    )


def _attributes(name: str) -> tuple[str, ...]:
    """Return the attributes that ONNX defines for an operator, from the oldest opset that the import follows."""
    every = onnx.defs.get_all_schemas_with_history()
    versions = [schema for schema in every if (schema.name, schema.domain) == (name, "")]
    before = [schema.since_version for schema in versions if schema.since_version <= FOLLOWED_OPSET]
    oldest = max(before, default=FOLLOWED_OPSET)
    return tuple(sorted({each for schema in versions if schema.since_version >= oldest for each in schema.attributes}))


def _reached(function: Callable[..., object]) -> tuple[FunctionType, ...]:
    """Return a function of `onnx_import` and those that it calls there, directly or not."""
    found: dict[FunctionType, None] = {}
    waiting: list[object] = [function]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, FunctionType) and each.__module__.startswith(_PACKAGE) and each not in found:
            found[each] = None
            waiting += _called(each)
    return tuple(found)


def _called(function: FunctionType) -> Iterator[object]:
    """Yield what a function names: other functions, methods of a node or a builder, and what becomes of steps."""
    for node in ast.walk(_tree(function)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _STEPS:
            yield _STEPS[node.func.id]
        elif isinstance(node, ast.Name):
            yield function.__globals__.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = getattr(_owner(function, node.value.id), node.attr, None)
            yield found.fget if isinstance(found, property) else found


def _owner(function: FunctionType, variable: str) -> object:
    """Return the class of a variable, or the module that it names."""
    if variable == "self":
        return next((each for each in _OWNERS.values() if _is_of(each, function)), None)
    return _OWNERS.get(variable, function.__globals__.get(variable))


def _is_of(owner: type, function: FunctionType) -> bool:
    return function.__qualname__.startswith(f"{owner.__name__}.")


def _is_method(function: FunctionType) -> bool:
    """Return whether a function is one of `Node` and `GraphBuilder`, which all operators have."""
    return any(_is_of(owner, function) for owner in _OWNERS.values())


@cache
def _tree(function: FunctionType) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _made(node: ast.AST) -> Iterator[str]:
    """Yield the kinds that a call of a layer class makes: `Conv(...)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield from (kind for kind, layer in KINDS.items() if layer.__name__ == node.func.id)


def _refusals(node: ast.AST) -> Iterator[str]:
    """Yield the text of `raise node.error(text)`."""
    call = node.exc if isinstance(node, ast.Raise) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "error":
        yield "".join(_words(call.args[0]))


def _words(text: ast.expr) -> Iterator[str]:
    """Yield the parts of a string, a gap in place of each value."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    for part in parts:
        yield part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else _GAP
