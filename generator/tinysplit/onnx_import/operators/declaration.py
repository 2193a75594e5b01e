"""What an importer declares beside its function: `OPERATORS` and docs/reference/operators.md have no more of it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from tinysplit.network.layers import Layer
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor

Convert = Callable[[Node, GraphBuilder], Tensor | Constant | tuple[Tensor, ...]]
Function = TypeVar("Function", bound=Convert)


class TakenPad(Enum):
    """Which Pad in front of an operator its function takes; any other one becomes a layer."""

    NONE = auto()
    ZEROS = auto()
    ANY = auto()


@dataclass(frozen=True)
class Operator:
    """An ONNX operator with the function that adds its layers; that sees no attributes but `attributes`."""

    name: str
    convert: Convert
    attributes: tuple[str, ...]
    ignored: tuple[str, ...]  # attributes that change nothing in an inference, or only in uses that are refused
    layers: tuple[type[Layer], ...]  # that it may become; none if it only changes the layout
    refusals: tuple[Refusal, ...]  # beside those that several operators have in common
    joins: bool  # may read several activations
    taken_pad: TakenPad
    takes_infinity: bool  # as a constant

    @property
    def meaning(self) -> str:
        """The first line of the function's docstring."""
        return (self.convert.__doc__ or "").partition("\n")[0]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of `layers`."""
        return tuple(layer.kind for layer in self.layers)


DECLARED: list[Operator] = []


def operator(
    name: str,
    *,
    attributes: tuple[str, ...] = (),
    ignored: tuple[str, ...] = (),
    layers: tuple[type[Layer], ...] = (),
    refusals: tuple[Refusal, ...] = (),
    joins: bool = False,
    taken_pad: TakenPad = TakenPad.NONE,
    takes_infinity: bool = False,
) -> Callable[[Function], Function]:
    """Declare the ONNX operator that the decorated function converts; see `Operator`."""

    def declare(convert: Function) -> Function:
        DECLARED.append(
            Operator(name, convert, attributes, ignored, layers, refusals, joins, taken_pad, takes_infinity)
        )
        return convert

    return declare
