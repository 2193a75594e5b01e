"""Selection of the layers of a board to fuse, and of their tile heights: a smaller arena without more cycles."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from tinysplit.common.alignment import WORD_BYTES, aligned
from tinysplit.common.choices import Optimize
from tinysplit.kernels import TABLE_ERROR, Kernel
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.arena import live_by_step, live_bytes
from tinysplit.memory.fused_rows import FusedRows
from tinysplit.memory.layout import MOVE_CYCLES, Schedule, layer_ram_bytes
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Layer

Option = TypeVar("Option")
Fusion = tuple[int, FusedRows]  # the producer's index, and how it is fused with its consumer


def fuse_layers(table: CycleTable, schedule: Schedule, core: str, optimize: Optimize) -> Schedule:
    """Return the schedule with those layers fused that make the arena smaller, in tiles as high as that allows.

    Unless RAM is the objective, fusion adds no cycles, within the error of the cost table.
    """
    search = _FusionSearch(table, schedule, core, optimize)
    lowest = search.useful()
    choices = {number: list(search.fusions(number)) for number, _ in lowest}
    return _with_fused(schedule, _highest_tiles(schedule, dict(search.needed(lowest)), choices))


class FusedCosts(NamedTuple):
    """What two layers take fused, in the lowest tiles.

    `ram_bytes` are those of all buffers that are live while both run, `lasting_ram_bytes` without inputs that later
    layers read.
    """

    ram_bytes: int
    lasting_ram_bytes: int


def fused_costs(
    table: CycleTable, graph: Graph, widths: BitWidths, kernels: Mapping[int, Kernel], core: str, optimize: Optimize
) -> Mapping[int, FusedCosts]:
    """Return the costs of layers that can be fused with the one after them, by producer; no layer is in two pairs.

    `kernels` are those of all layers.
    """
    schedule = _in_order(graph, widths, kernels)
    search = _FusionSearch(table, schedule, core, optimize)
    return {
        number: _pair_costs(schedule, number, fused)
        for number, fused in search.useful()
        if graph.readers(number) == (number + 1,)
    }


def least_pair_bytes(
    table: CycleTable, graph: Graph, widths: BitWidths, kernels: Mapping[int, Kernel], core: str, optimize: Optimize
) -> int | None:
    """Return the arena bytes of two layers that run fused with `kernels`, None where they cannot."""
    schedule = _in_order(graph, widths, kernels)
    lowest = _FusionSearch(table, schedule, core, optimize).lowest()
    return next((_pair_costs(schedule, *fusion).ram_bytes for fusion in lowest), None)


def _in_order(graph: Graph, widths: BitWidths, kernels: Mapping[int, Kernel]) -> Schedule:
    """Return the schedule that runs the layers of `kernels` in their order, and nothing else."""
    return Schedule(graph, widths, [PlanStep(StepKind.RUN, number, number) for number in kernels], kernels)


@dataclass(frozen=True)
class _FusionSearch:
    """The fusions that are possible in a schedule on a core (GCC's -mcpu name), with cycles by the cost `table`."""

    table: CycleTable
    schedule: Schedule
    core: str
    optimize: Optimize

    def lowest(self) -> Iterator[Fusion]:
        """Yield the possible fusions in the lowest tiles."""
        for number in _producers(self.schedule):
            fused = next(self.fusions(number), None)
            if fused:
                yield number, fused

    def useful(self) -> list[Fusion]:
        """Return the fusions in the lowest tiles that take less RAM than their layers one after the other, disjoint."""
        return _disjoint(self.schedule, [each for each in self.lowest() if _saves(self.schedule, *each)])

    def fusions(self, number: int) -> Iterator[FusedRows]:
        """Yield the possible fusions of a layer with its consumer, the lowest tiles first."""
        (reader,), layers = self.schedule.graph.readers(number), self.schedule.graph.layers
        for out_rows in range(1, layers[reader].out_shape.height // 2 + 1):
            fused = FusedRows.of(layers[number], layers[reader], out_rows)
            if not fused or not kernels_support(self.schedule, self.core, number, fused):
                continue
            if self.optimize is Optimize.RAM or not self._is_slower(number, fused):
                yield fused

    def needed(self, fusions: list[Fusion]) -> list[Fusion]:
        """Return a minimal subset of fusions for the smallest arena.

        Tries first those without which a single step needs more than that arena: often they are enough.
        """
        schedule = self.schedule
        least_bytes = _with_fused(schedule, fusions).size_bytes
        if schedule.fits(least_bytes):
            return []
        live, run_steps = live_by_step(schedule.buffers()), schedule.run_steps
        certain = [
            (number, fused)
            for number, fused in fusions
            if any(
                live_bytes(live[run_steps[each]]) > least_bytes for each in (number, *schedule.graph.readers(number))
            )
        ]
        if _with_fused(schedule, certain).fits(least_bytes):
            return certain
        return smallest_subset(fusions, lambda some: _with_fused(schedule, some), 0)

    def _is_slower(self, number: int, fused: FusedRows) -> bool:
        """Return whether two layers take more cycles fused than separately, by more than the table's error."""
        whole, parts = self._cycles(number, fused)
        return parts > (1 + TABLE_ERROR) * whole

    def _cycles(self, number: int, fused: FusedRows) -> tuple[float, float]:
        """Return the cycles of a producer and its consumer one after the other, and fused."""
        schedule, graph = self.schedule, self.schedule.graph
        (reader,) = graph.readers(number)

        def cycles(own: int, layer: Layer, calls: int = 1) -> float:
            widths = schedule.widths.of_layer(graph.layers[own])
            return kernel_cycles(self.table, layer, self.core, widths, schedule.kernels[own], calls)

        whole = cycles(number, graph.layers[number]) + cycles(reader, graph.layers[reader])
        parts = cycles(number, fused.producer, fused.producer_calls) + cycles(reader, fused.consumer, fused.tiles)
        value_bytes = schedule.widths.of_layer(graph.layers[number]).y // 8
        return whole, parts + fused.moved_size * value_bytes / WORD_BYTES * MOVE_CYCLES


def _saves(schedule: Schedule, number: int, fused: FusedRows) -> bool:
    layers = (number, *schedule.graph.readers(number))
    alone = (layer_ram_bytes(schedule.graph, each, schedule.widths, schedule.kernels[each]) for each in layers)
    return _pair_costs(schedule, number, fused).ram_bytes < max(alone)


def _pair_costs(schedule: Schedule, number: int, fused: FusedRows) -> FusedCosts:
    """Return what a producer and its consumer take alone."""
    graph, (reader,) = schedule.graph, schedule.graph.readers(number)
    layers = (number, reader)
    runs = [PlanStep(StepKind.RUN, each, each) for each in layers]
    kept = [source for source in graph.predecessors[number] if graph.last_reader(source) > reader]
    sends = [PlanStep(StepKind.SEND, 0, source) for source in kept]
    kernels = {each: schedule.kernels[each] for each in layers}
    size_bytes = Schedule(graph, schedule.widths, [*runs, *sends], kernels, {number: fused}).size_bytes
    return FusedCosts(
        size_bytes, size_bytes - sum(aligned(schedule.widths.size_bytes(graph, source)) for source in kept)
    )


def smallest_subset(
    options: list[Option], build: Callable[[Sequence[Option]], Schedule], wanted_bytes: int
) -> list[Option]:
    """Return a minimal subset of `options` whose arena is as small as with all, or takes at most `wanted_bytes`.

    Greedy: each option in turn, the first ones first, is dropped when the schedule that `build` makes of the rest
    still fits. Returns no options when all of them together do not make the arena smaller.
    """
    if not options:
        return []
    least_bytes = build(options).size_bytes
    if least_bytes >= build([]).size_bytes:
        return []
    enough_bytes = max(least_bytes, wanted_bytes)
    for option in list(options):
        rest = [other for other in options if other != option]
        if build(rest).fits(enough_bytes):
            options = rest
    return options


def kernels_support(schedule: Schedule, core: str, number: int, fused: FusedRows) -> bool:
    """Return whether the kernels chosen for a producer and its consumer can compute them a few rows at a time."""
    (reader,), kernels = schedule.graph.readers(number), schedule.kernels
    return kernels[number].suits_fused_rows and all(
        kernels[each].fits(layer, core, schedule.widths.of_layer(schedule.graph.layers[each]))
        for each, layer in ((number, fused.producer), (reader, fused.consumer))
    )


def _with_fused(schedule: Schedule, fusions: Sequence[Fusion]) -> Schedule:
    return replace(schedule, fused=dict(fusions))


def _producers(schedule: Schedule) -> Iterator[int]:
    """Yield the layers whose output is read by exactly one layer, of the same board, and is not sent."""
    sent = {step.tensor for step in schedule.steps if step.kind is StepKind.SEND}
    for number in schedule.kernels:
        readers = schedule.graph.readers(number)
        if len(readers) == 1 and readers[0] in schedule.kernels and number not in sent:
            yield number


def _disjoint(schedule: Schedule, fusions: Sequence[Fusion]) -> list[Fusion]:
    """Return fusions such that no layer is in two of them, those of the most bytes first."""
    taken: set[int] = set()
    disjoint = []
    for number, fused in sorted(fusions, key=lambda fusion: -schedule.widths.size_bytes(schedule.graph, fusion[0])):
        layers = {number, *schedule.graph.readers(number)}
        if not layers & taken:
            taken |= layers
            disjoint.append((number, fused))
    return sorted(disjoint, key=lambda fusion: fusion[0])


def _highest_tiles(
    schedule: Schedule, fused: dict[int, FusedRows], choices: Mapping[int, Sequence[FusedRows]]
) -> list[Fusion]:
    """Return the fusions with the highest tiles that need no larger arena: lower tiles move and recompute more."""
    least_bytes = _with_fused(schedule, list(fused.items())).size_bytes
    for number in list(fused):
        higher = ({**fused, number: own} for own in reversed(choices[number]))
        fused = next(each for each in higher if _with_fused(schedule, list(each.items())).fits(least_bytes))
    return list(fused.items())
