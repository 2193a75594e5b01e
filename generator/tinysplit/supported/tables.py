"""What networks may have as JSON, as Markdown (docs/reference/operators.md) and on a console."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console

from tinysplit.common.tables import plain_table
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.onnx_file.composed_operators import COMPOSED
from tinysplit.network.onnx_file.integer_operators import FLOAT
from tinysplit.network.onnx_file.opsets import FIRST_OPSET, FOLLOWED_OPSET
from tinysplit.onnx_import.importer import COMMON_REFUSALS
from tinysplit.onnx_import.operators import OPERATORS
from tinysplit.onnx_import.operators.declaration import Operator
from tinysplit.supported.kernels import BITS, kernels_by_kind
from tinysplit.tflite_import.operators import OPERATORS as TFLITE_OPERATORS

_HEAD = f"""\
# Operators and kernels

`tinysplit operators --markdown > docs/reference/operators.md` writes this page from the importers and kernels.

Networks have float32 inputs with a batch of 1 (or a dynamic one), any outputs, and opset {FIRST_OPSET} or later;
ONNX's version converter converts those before opset {FOLLOWED_OPSET}. Operators that read constants only are computed
when the network is imported. Networks with QuantizeLinear and DequantizeLinear pairs keep their formats
([quantization](../understand/quantization.md)).

Every operator below computes with 8 and 16 bits. Scale, shift and clamp fold into the layer before them where it can
take them; the layer that is named is what they become elsewhere. Functions of one value that follow each other, or are
computed of one another, as x * sigmoid(x), are one `lookup`; with 16 bits it interpolates between 1025 values.
Operators without a layer change the layout only, by a `permute` or `pad` where the next layer needs one. First and last
states of recurrent operators may be inputs and outputs, or kept on the boards
([states](../understand/quantization.md#kept-states)).

When a file is read, {", ".join(COMPOSED)} become several of these
operators. Those of the QOperator format become the float ones between QuantizeLinear and DequantizeLinear:
{", ".join(list(FLOAT)[:6])},
{", ".join(list(FLOAT)[6:])}.

What an operator refuses, with the message, and attributes without effect are in `tinysplit operators --json`.

## Operators

In brackets are the attributes that are followed.

"""
_TFLITE = """
## .tflite files

A .tflite file is read in place of an ONNX file by all commands and by scripts, without TensorFlow: it is translated
to an ONNX model, of which a generated folder keeps a copy. Quantized tensors of int8, uint8 and int16 become pairs with
their scales and zero points ([quantization](../understand/quantization.md)); networks of floats, and those with weights
alone in integers or float16, are quantized as others are. Samples have the file's shape, channels last. These operators
have a translation:

"""
_KERNELS = """
## Kernels

`tinysplit operators` prints which kernels compute each layer on each core, with 8 and 16 bits, in the order that breaks
ties; which of them do depends on the shape ([kernels](../understand/kernels.md)).
"""


def operators_to_json() -> dict[str, Any]:
    """Return operators, the messages that several of them have in common, and kernels by kind, core and bits."""
    return {
        "operators": [_operator_to_json(operator) for operator in OPERATORS.values()],
        "tflite_operators": sorted(TFLITE_OPERATORS),
        "general_refusals": [str(refusal) for refusal in COMMON_REFUSALS],
        "kernels": [
            {"layer": kind, "core": core, "bits": bits, "kernels": list(names)}
            for kind, kernels in kernels_by_kind().items()
            for (core, bits), names in kernels.items()
        ],
    }


def operators_to_markdown() -> str:
    """Return the text of docs/reference/operators.md."""
    operators = "".join(_operator_item(operator) for operator in OPERATORS.values())
    tflite = _paragraph(f"`{name}`" for name in sorted(TFLITE_OPERATORS))
    return f"{_HEAD}{operators}{_TFLITE}{tflite}{_KERNELS}"


def _paragraph(words: Iterable[str]) -> str:
    return textwrap.fill(", ".join(words) + ".", 120, break_on_hyphens=False) + "\n"


def print_operators(console: Console) -> None:
    """Print the operators with their attributes and layers, and the kernels of these layers by core."""
    table = plain_table("operator", "attributes", "layers")
    for operator in OPERATORS.values():
        table.add_row(operator.name, ", ".join(sorted(operator.attributes)), ", ".join(operator.kinds))
    console.print(table)
    console.print()
    table = plain_table("layer", "core", "8 bits", "16 bits")
    for kind, kernels in kernels_by_kind().items():
        for core in shipped_table().cores:
            table.add_row(kind, core, *(", ".join(kernels[core, bits]) for bits in BITS))
    console.print(table)


def _operator_to_json(operator: Operator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "meaning": operator.meaning,
        "attributes": sorted(operator.attributes),
        "ignored": sorted(operator.ignored),
        "kinds": list(operator.kinds),
        "refused": [str(refusal) for refusal in operator.refusals],
    }


def _operator_item(operator: Operator) -> str:
    entry = _operator_to_json(operator)
    attributes = f" ({_code(entry['attributes'])})" if entry["attributes"] else ""
    layers = f" Layers: {_code(entry['kinds'])}." if entry["kinds"] else ""
    return f"- **{operator.name}**{attributes}: {operator.meaning}{layers}\n"


def _code(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
