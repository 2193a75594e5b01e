"""Views: no kernel at all, as their outputs lie where their inputs are."""

from typing import ClassVar

from typing_extensions import override

from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import VIEW, Work
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer


class View(Kernel):
    """What stands for a kernel where nothing is computed."""

    name: ClassVar[str] = VIEW

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        return layer.is_view

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        return 0

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        return Loads(0, 0)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        return {}

    @override
    def cost_kind(self, layer: Layer) -> str:
        return VIEW
