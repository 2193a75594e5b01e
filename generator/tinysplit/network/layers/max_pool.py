"""Maximum over windows; padding is ignored."""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.pool import Pool


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxPool(Pool):
    """A pool over `window`, channel by channel."""

    kind: ClassVar[str] = "max_pool"
    keeps_sign: ClassVar[bool] = True

    @property
    @override
    def keeps_format(self) -> bool:
        return True

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        patches = self.window.patches(x, fill=quantized.formats.x.low)
        return quantized.clamped(patches.max(axis=(3, 4)))
