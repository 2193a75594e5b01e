"""What layers take on a device, alone or fused with their neighbours there."""

from tinysplit.split.least_costs import with_least_costs, with_least_kernels
from tinysplit.split.problem import Problem


class FusedLayerCosts:
    """The costs of each layer by whether the layers that it may be fused with are on its device."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.least = with_least_kernels(problem), with_least_costs(problem)
        self._behind = {fused.producer: fused for fused in self.problem.fused}  # with the layer behind

    def joins(self, layer: int) -> bool:
        """Return whether `layer` may be fused with the one behind it."""
        return layer in self._behind

    def ram_bytes(self, layer: int, device: int, *, came: bool, goes_on: bool) -> int:
        """Return the RAM of `layer` while it runs; `came`: the layer before it, of a pair, is on the same device."""
        least = self.problem.layers[layer].ram_bytes[device]
        if came and layer - 1 in self._behind:
            least = min(least, self._behind[layer - 1].consumer_ram_bytes[device])
        if goes_on and layer in self._behind:
            least = min(least, self._behind[layer].producer_ram_bytes[device])
        return least
