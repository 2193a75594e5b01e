"""Views: no kernel at all, as their outputs lie where their inputs are."""

from typing import ClassVar

from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import VIEW, Work
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer


class View(Kernel):
    """What stands for a kernel where nothing is computed."""

    name: ClassVar[str] = VIEW

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:  # noqa: ARG002 - any will do
        """See `Kernel.fits`."""
        return layer.is_view

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - any will do
        """See `Kernel.scratch_bytes`."""
        return 0

    def loads(self, layer: Layer, widths: Widths) -> Loads:  # noqa: ARG002 - any will do
        """See `Kernel.loads`: none."""
        return Loads(0, 0)

    def work(self, layer: Layer, widths: Widths) -> Work:  # noqa: ARG002 - any will do
        """See `Kernel.work`: none."""
        return {}

    def cost_kind(self, layer: Layer) -> str:  # noqa: ARG002 - any will do
        """See `Kernel.cost_kind`."""
        return VIEW
