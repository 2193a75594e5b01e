"""Read and check a network's file; errors give the reason in one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import ModelProto, TensorProto, numpy_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.ends import IntegerInput
from tinysplit.network.onnx_file.float_network import as_float_network
from tinysplit.network.onnx_file.kept_states import kept_states
from tinysplit.network.onnx_file.living_nodes import sort_nodes
from tinysplit.network.onnx_file.model_source import parse_source, read_source
from tinysplit.network.onnx_file.opsets import FIRST_OPSET, LAST_OPSET, convert_old, opset_of
from tinysplit.onnx_import.external_data import load_weights
from tinysplit.onnx_import.float_types import as_float32
from tinysplit.onnx_import.size_limits import all_tensors, check_model_size
from tinysplit.onnx_import.stand_ins import fill_inputs, weight_inputs

NAMES_NO_TEXT = "it has names that are no text in UTF-8"


@dataclass(frozen=True)
class ModelFile:
    """A model with all its weights or stand-ins, in an opset that the import follows, and the hash of its files."""

    model: ModelProto
    sha256: str
    opset: int
    has_weights: bool
    input_integers: Mapping[str, IntegerInput]  # what inputs of the file take, without float ones
    states: Mapping[str, str]  # outputs that boards keep as the next values of inputs, by these


def read_model(path: Path, *, needs_weights: bool = True) -> ModelFile:
    """Read and check `path`. Raises InputError unless it is a valid model.

    Without `needs_weights`, those that the file lacks have stand-ins.
    """
    contents = read_source(path)
    model = _parse(path, contents)
    opset = opset_of(model)
    if not FIRST_OPSET <= opset <= LAST_OPSET:
        raise InputError(f"{path} uses opset {opset}: export it with an opset from {FIRST_OPSET} to {LAST_OPSET}")
    check_model_size(model, path)
    digest, has_weights = load_weights(model, path, contents, needs_weights=needs_weights)
    if not needs_weights and fill_inputs(model):
        has_weights = False
    sort_nodes(model)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        # The checker's message is lost where it quotes what is no text.
        raise InputError(f"{path} is no valid ONNX model: {one_line(error) or NAMES_NO_TEXT}") from None
    _check_tensors(model, path)
    as_float32(model)
    _check_weights(model, path)
    states = kept_states(model)
    integers = as_float_network(model)
    model = convert_old(model)
    _check_borders(model, path)
    return ModelFile(model, digest, opset_of(model), has_weights, integers, states)


def _parse(path: Path, contents: bytes) -> ModelProto:
    model = parse_source(path, contents)
    if not model.ir_version or not model.HasField("graph"):
        raise InputError(f"{path} is no ONNX file, or a damaged one: export the network again")
    if not model.graph.node:
        raise InputError(f"{path} has a network without operators: export one that computes something")
    model.ClearField("functions")  # not supported; a short list of them may describe a network of endless size
    return model


def _check_tensors(model: ModelProto, path: Path) -> None:
    """Raise InputError for a tensor whose values do not fit its sizes or type, which ONNX's checker lets pass."""
    for tensor in all_tensors(model):
        try:
            numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path} has the tensor '{tensor.name}' with other values than its sizes and type say "
                f"({one_line(error)}): export the network again"
            ) from None


def _check_weights(model: ModelProto, path: Path) -> None:
    """Raise InputError for inputs that are weights."""
    if lacking := weight_inputs(model):
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [value.name for value in model.graph.input if value.name not in constants]
        named = ", ".join(f"'{name}'" for name in inputs)
        weights = f"{len(lacking)} of them weights (export it with them)"
        raise InputError(f"{path} has {len(inputs)} inputs ({named}), {weights}")


def _check_borders(model: ModelProto, path: Path) -> None:
    """Raise InputError unless the network has float32 inputs, and outputs."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    for kind, values in (("input", inputs), ("output", model.graph.output)):
        if not values:
            raise InputError(f"{path} has a network without {kind}s: export it again")
        names = [value.name for value in values]
        if again := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"{path} has several {kind}s with the name '{again}': export it with names of their own")
    for value in inputs:
        element = value.type.tensor_type.elem_type
        if element != TensorProto.FLOAT:
            known = element in TensorProto.DataType.values()
            kind = TensorProto.DataType.Name(element) if known else f"of the unknown type {element}"
            raise InputError(
                f"input '{value.name}' is {kind}: export the network in float32, or quantized to 8 or 16 bits"
            )
