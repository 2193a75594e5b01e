"""`src/mlperf_settings.c`: what a board that speaks MLPerf Tiny's protocol knows of data set and network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, frexp, inf

import numpy as np
from numpy.typing import NDArray

from tinysplit.boards.board import Board
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.templates import render
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.settings.programs import HOST_PROTOCOL, MLPERF_BYTE_SCALE, MLPERF_MODEL

BITS_OF_BYTE = 8
DECIMALS = 6  # of a result, as in firmware/common/mlperf_infer.c
REAL_STEP = 2.0**-16  # in which boards compute with float32 values: firmware/common/mlperf_input.h
REAL_BYTES = 4
_FACTOR_BITS = 31
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"


@dataclass(frozen=True)
class ByteFormat:
    """What a byte of a data set's files stands for: (i - zero_point) * scale, i from 0 or in two's complement."""

    scale: float
    zero_point: int = 0
    is_signed: bool = False

    def values(self) -> NDArray[np.float64]:
        """Return the real values of the bytes 0 to 255."""
        integers = np.arange(1 << BITS_OF_BYTE, dtype=np.uint8)
        signed = integers.astype(np.int8) if self.is_signed else integers
        return (signed.astype(np.float64) - self.zero_point) * self.scale


RECONSTRUCTION = "ad01"  # its files are float32 values, its result is the mean squared error of a reconstruction

# Other files of mlcommons/tiny: features in the int8 format of the reference model's input, and pixels.
DATASETS = {
    "kws01": ByteFormat(0.5847029089927673, 83, is_signed=True),
    "ic01": ByteFormat(1.0),
    "vww01": ByteFormat(1 / 255),
}


@dataclass(frozen=True)
class Mlperf:
    """The choices of MLPerf Tiny's protocol: name of the model, and the real value of a step of the files' bytes."""

    model: str
    byte_scale: float | None = None

    @property
    def bytes(self) -> ByteFormat | None:
        """The format of the data set's bytes, None where they are the integers of the network's input."""
        known = DATASETS.get(self.model)
        if self.byte_scale is None:
            return known
        return replace(known or ByteFormat(1.0), scale=self.byte_scale)

    def check(self, copies: int) -> None:
        """Raise InputError for a model that cannot be served, UsageError for copies of it and a wrong scale."""
        if self.byte_scale is not None and not 0 < self.byte_scale < inf:
            raise UsageError(f"{MLPERF_BYTE_SCALE} {self.byte_scale:g}: expected a finite number above zero")
        if copies:
            raise UsageError(
                f"the split has copies of the network, and {HOST_PROTOCOL('mlperf')} serves one: split again"
            )
        if not self.model or set(self.model) - set(_NAME_CHARACTERS):
            raise InputError(f"{MLPERF_MODEL} {self.model!r}: use letters, digits, and . _ -")
        if self.reads_reals and self.byte_scale is not None:
            raise UsageError(f"{MLPERF_MODEL} {self.model} has no bytes to scale: leave {MLPERF_BYTE_SCALE} out")

    @property
    def reads_reals(self) -> bool:
        """Whether the data set has float32 values, to which the output is compared."""
        return self.model == RECONSTRUCTION

    def ram_bytes(self, graph: Graph) -> int:
        """Return the bytes that the protocol needs for an input of this network, beside the integers."""
        return REAL_BYTES * graph.in_shape.size if self.reads_reals else 0


@dataclass(frozen=True)
class MlperfContext:
    """The names of `project/mlperf_settings.c.j2`; `input_map` is empty where bytes are taken as they are."""

    device: str
    model: str
    input_map: Sequence[str]
    reals: int  # float32 values that the data set has for an input
    real_factor: int
    real_shift: int
    input_zero_point: int
    input_value_bytes: int
    output_value_bytes: int
    output_factor: int
    output_shift: int
    output_zero_point: int


def render_mlperf_settings(quantized: QuantizedGraph, board: Board, mlperf: Mlperf) -> str:
    """Return the text of `mlperf_settings.c`.

    Raises InputError for several inputs or outputs, for steps of input or output beyond what the protocol has, and for
    an output that is no reconstruction of the input where the result is the error of one.
    """
    if len(quantized.input_formats) > 1 or len(quantized.output_formats) > 1:
        raise InputError(
            f"{quantized.graph.name} has several inputs or outputs, and {HOST_PROTOCOL('mlperf')} knows one of each: "
            f"use {HOST_PROTOCOL('tinysplit')}"
        )
    graph, (source,), (output,) = quantized.graph, quantized.input_formats, quantized.output_formats
    if mlperf.reads_reals and graph.in_shape.size != graph.out_shape.size:
        raise InputError(
            f"{MLPERF_MODEL} {mlperf.model} compares the output with the input, and this network's "
            f"{graph.out_shape.size} outputs do not reconstruct its {graph.in_shape.size} inputs: use another name"
        )
    factor, shift = _scaled(10**DECIMALS * output.scale, f"a step of the network's output is {output.scale:g}")
    real_factor, real_shift = _scaled(REAL_STEP / source.scale, f"a step of the network's input is {source.scale:g}")
    return render(
        "project/mlperf_settings.c.j2",
        MlperfContext(
            device=board.title,
            model=mlperf.model,
            input_map=_input_map(source, mlperf.bytes) if mlperf.bytes else (),
            reals=graph.in_shape.size if mlperf.reads_reals else 0,
            real_factor=real_factor,
            real_shift=real_shift,
            input_zero_point=source.zero_point,
            input_value_bytes=source.bits // BITS_OF_BYTE,
            output_value_bytes=output.bits // BITS_OF_BYTE,
            output_factor=factor,
            output_shift=shift,
            output_zero_point=output.zero_point,
        ),
    )


def _input_map(source: ValueFormat, dataset: ByteFormat) -> list[str]:
    """Return the lines of a table with the network's input for each byte, 8 on a line."""
    integers = source.quantize(dataset.values()).tolist()
    return [", ".join(map(str, integers[start : start + 8])) for start in range(0, len(integers), 8)]


def _scaled(ratio: float, name: str) -> tuple[int, int]:
    """Return a factor of at most 31 bits and a shift, factor / 2**shift being `ratio`; `name` says where it is from."""
    _, exponent = frexp(ratio)
    shift = min(max(_FACTOR_BITS - exponent, 0), 2 * _FACTOR_BITS)
    factor = floor(ratio * 2.0**shift + 0.5)
    if factor >> (_FACTOR_BITS + 1):
        raise InputError(f"{name}: values of {HOST_PROTOCOL('mlperf')} are of another size")
    return factor, shift
