"""Models of what the parts of one layer take on each board, by their units: in seconds, joules and bytes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tinysplit.network.distribution import SliceAxis
from tinysplit.papers.solvers.geometric.posynomial import Posynomial
from tinysplit.papers.solvers.geometric.problem import DivisionCosts
from tinysplit.papers.solvers.geometric_slices.fits import Fits, Modelled
from tinysplit.papers.solvers.geometric_slices.groups import Group
from tinysplit.papers.solvers.geometric_slices.transfers import PartTransfers
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.problem import Floats, Integers
from tinysplit.slices.part_costs import PartCost
from tinysplit.split.problem import Objective

Sends = Callable[[int, int, list[int]], Integers]  # bytes that a layer's part on a board sends or receives, by sizes


@dataclass(frozen=True, eq=False)
class PartModels:
    """Models of parts of the layers that `transfers` divides, made as they are needed and kept in `fits`.

    Parts are in units of rows or channels: see `Group`.
    """

    transfers: PartTransfers
    fits: Fits = field(default_factory=Fits)

    @property
    def model(self) -> DistributionModel:
        """Boards, links and costs."""
        return self.transfers.model

    @property
    def axis(self) -> SliceAxis:
        """What layers are divided by."""
        return self.transfers.axis

    def costs(self, number: int, board: int, objective: Objective) -> DivisionCosts:
        """Return the seconds, or joules, of a part of a layer; transfers of joules are those of both ends.

        A board draws the power of its activity; what it draws while it waits is left out.
        """
        compute = self._of_costs("compute", number, board, lambda cost: cost.seconds)
        if objective is Objective.ENERGY:
            compute *= self.model.costs.boards[board].power.run_w
        inputs = self._of_transfers("inputs", number, board, objective, self.transfers.inputs)
        outputs = self._of_transfers("outputs", number, board, objective, self.transfers.outputs)
        return DivisionCosts(compute, inputs, outputs)

    def flash(self, number: int, board: int) -> Posynomial:
        """Return the bytes of flash of a part."""
        return self._of_costs("flash", number, board, lambda cost: cost.flash_bytes)

    def ram(self, number: int, board: int) -> Posynomial:
        """Return the bytes of RAM of a part, its whole inputs included."""
        return self._of_costs("RAM", number, board, lambda cost: cost.ram_bytes)

    def cost(self, number: int, board: int, size: int) -> PartCost:
        """Return what a part of `size` units takes in the middle of a layer, where it has halos on both sides."""
        group = self._group(number)
        n_own = size * group.unit
        start = group.wanted.start + (len(group.wanted) - n_own) // 2
        return self.model.costs.of(number, board, self.axis, range(start, start + n_own))

    def _of_costs(self, what: str, number: int, board: int, value: Callable[[PartCost], float]) -> Posynomial:
        def values(sizes: list[int]) -> Floats:
            return np.array([value(self.cost(number, board, size)) for size in sizes], float)

        of = Modelled(what, f"layer {number + 1} on {self.model.costs.boards[board].name}")
        return self.fits.model(of, self._group(number).size, values)

    def _of_transfers(self, what: str, number: int, board: int, objective: Objective, sends: Sends) -> Posynomial:
        """Return the seconds until the last transfer of a part has ended, or the joules of all of them."""
        group = self._group(number)
        is_energy = objective is Objective.ENERGY
        own_watts = np.array([each.power.transfer_w for each in self.model.costs.boards])
        watts = own_watts[:, None] + own_watts  # of both ends

        def values(sizes: list[int]) -> Floats:
            seconds = self.transfers.seconds(sends(number, board, [size * group.unit for size in sizes]))
            costs: Floats = (seconds * watts).sum(axis=(1, 2)) if is_energy else seconds.max(axis=(1, 2))
            return costs

        of = Modelled(f"energy of {what}" if is_energy else what, f"layer {number + 1} on board {board + 1}")
        return self.fits.model(of, group.size, values)

    def _group(self, number: int) -> Group:
        return next(group for group in self.transfers.groups if number in group.layers)
