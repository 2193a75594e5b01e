"""What a board does to need little RAM: layers in bands, tensors that move, slower kernels that need less."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tinysplit.kernels import Kernel, Optimize, choose
from tinysplit.memory.fewest import fewest
from tinysplit.memory.fusion_search import in_bands, suits
from tinysplit.memory.layout import BoardMemory, Move, Schedule
from tinysplit.memory.schedule import Step, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph

NO_NAMES: Mapping[int, str] = MappingProxyType({})


def plan_memory(
    graph: Graph,
    widths: BitWidths,
    core: str,
    steps: Sequence[Step],
    ram_bytes: int,
    optimize: Optimize,
    named: Mapping[int, str] = NO_NAMES,
) -> BoardMemory:
    """Return the memory of a board with `ram_bytes` for tensors; it may need more, which is for the caller to say.

    `named` are kernels or schemes that some layers have to have.

    Layers walk in bands where that makes the arena smaller. Tensors move where nothing else makes it fit; for the
    least RAM, wherever that makes it smaller. Then kernels are not the fastest, where that makes it smaller, too.
    """
    runs = [step.item for step in steps if step.kind is StepKind.RUN]
    layers = {number: graph.layers[number] for number in runs}
    kernels = {
        number: choose(layer, core, widths.of_layer(layer), optimize, named.get(number))
        for number, layer in layers.items()
    }
    whole = Schedule(graph, widths, steps, kernels)
    schedule = in_bands(whole, core, optimize)
    if optimize is Optimize.RAM:
        schedule, whole = (_with_fast_kernels(each, core, named) for each in (schedule, whole))
        ram_bytes = 0
    if schedule.size_bytes <= ram_bytes:
        return schedule.memory()
    both = (_moving(each, ram_bytes) for each in (schedule, whole))  # where tensors move, a step of two may need more
    return min(both, key=lambda each: max(each.size_bytes, ram_bytes)).memory()


def _moving(schedule: Schedule, wanted_bytes: int) -> Schedule:
    def build(moves: Sequence[Move]) -> Schedule:
        return replace(schedule, moves=tuple(sorted(moves)))

    return build(fewest(_all_moves(schedule), build, wanted_bytes))


def _with_fast_kernels(schedule: Schedule, core: str, named: Mapping[int, str]) -> Schedule:
    """Return the schedule with the fastest kernels that take no more RAM, whatever moves; the longest layers first."""
    fast = {number: _fastest(schedule, number, core, named.get(number)) for number in schedule.kernels}
    slow = [number for number, kernel in schedule.kernels.items() if fast[number] is not kernel]
    free = replace(schedule, moves=tuple(sorted(_all_moves(schedule))))

    def build(some: Sequence[int]) -> Schedule:
        return replace(free, kernels=fast | {number: schedule.kernels[number] for number in some})

    layers = schedule.graph.layers
    needed = fewest(sorted(slow, key=lambda number: -layers[number].macc), build, 0)
    return replace(build(needed), moves=())


def _fastest(schedule: Schedule, number: int, core: str, name: str | None) -> Kernel:
    """Return the fastest kernel of a layer, of those that suit a band where it runs in bands."""
    layer = schedule.graph.layers[number]
    kernel = choose(layer, core, schedule.widths.of_layer(layer), name=name)
    own = replace(schedule, kernels={**schedule.kernels, number: kernel})
    fit = all(suits(own, core, producer, bands) for producer, bands in schedule.bands.items())
    return kernel if fit else schedule.kernels[number]


def _all_moves(schedule: Schedule) -> list[Move]:
    """Return a move before every layer for each of its inputs, the longest first."""
    moves = {
        Move(turn, source)
        for layer, turn in schedule.turns.items()
        for source in schedule.graph.predecessors[layer]
        if source not in schedule.bands
    }
    return sorted(moves, key=lambda move: (-schedule.graph.size(move.tensor), move))
