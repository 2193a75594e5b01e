"""The plain loops: they compute every layer of every width on every core."""

from typing import ClassVar

from tinysplit.layers.base import Layer
from tinysplit.techniques.base import Technique, Widths


class Direct(Technique):
    """Portable C straight from the layer's formula, with the constants as the layer itself gives them."""

    name: ClassVar[str] = "direct"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:  # noqa: ARG002 - any will do
        """See `Technique.fits`."""
        return True

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - any will do
        """See `Technique.scratch_bytes`."""
        return 0

    def template(self, layer: Layer) -> str:
        """Return the template of the kind's name."""
        return f"layers/{layer.kind}.c.j2"

    def cost_kind(self, layer: Layer) -> str:
        """Return the kind: it is what layers that no other technique suits are known by."""
        return layer.cost_kind
