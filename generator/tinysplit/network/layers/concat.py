"""Concatenation: every pixel gets the channels of all inputs, one input after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import Shape
from tinysplit.network.layers.joining import Alignment, Joining, coarse_enough, reach


@dataclass(frozen=True, eq=False, kw_only=True)
class Concat(Joining):
    """Maps of one height and width side by side; each input has a format of its own, which becomes the output's.

    One that `keeps_integers` brings the outputs of the network together, each in its own format.
    """

    kind: ClassVar[str] = "concat"
    takes_clamp: ClassVar[bool] = True

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return self.in_shape._replace(channels=sum(shape.channels for shape in self.in_shapes))

    @property
    @override
    def operator_macc(self) -> int:
        """None: values are only moved."""
        return 0

    def alignments(self, formats: LayerFormats) -> tuple[Alignment, ...]:
        """Return how each input is brought to the output's format."""
        if self.keeps_integers:
            return (Alignment((1,), 0, 0),) * len(formats.inputs)
        y = formats.y
        return tuple(Alignment.of([x.scale / y.scale], [x.zero_point], y.zero_point, -x.low) for x in formats.inputs)

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of every input fit in 32 bits."""
        return wanted if self.keeps_integers else coarse_enough(wanted, max(map(reach, inputs)))

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        parts = [
            (offset + factor * x.astype(np.int64)) >> shift
            for ((factor,), offset, shift), x in zip(self.alignments(quantized.formats), inputs, strict=True)
        ]
        return quantized.clamped(np.concatenate(parts, axis=-1))
