"""Maximum over windows; padding is ignored."""

from dataclasses import dataclass
from typing import ClassVar

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.pool import Pool


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxPool(Pool):
    """A pool over `window`, channel by channel."""

    kind: ClassVar[str] = "max_pool"
    keeps_sign: ClassVar[bool] = True

    @property
    def keeps_format(self) -> bool:
        """See `Layer.keeps_format`."""
        return True

    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        (x,) = inputs
        patches = self.window.patches(x, fill=quantized.formats.x.low)
        return quantized.clamped(patches.max(axis=(3, 4)))
