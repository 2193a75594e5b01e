"""What a board does to need little RAM: layers in bands, tensors that move, slower kernels that need less."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tinysplit.band_search import in_bands, suits
from tinysplit.bit_widths import BitWidths
from tinysplit.board_memory import BoardMemory, Move, Schedule
from tinysplit.board_steps import Step, StepKind
from tinysplit.fewest import fewest
from tinysplit.graph import Graph
from tinysplit.techniques import Optimize, Technique, choose

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

    `named` are techniques or schemes that some layers have to have.

    Layers walk in bands where that makes the arena smaller. Tensors move where nothing else makes it fit; for the
    least RAM, wherever that makes it smaller. Then kernels are not the fastest, where that makes it smaller, too.
    """
    runs = [step.item for step in steps if step.kind is StepKind.RUN]
    layers = {number: graph.layers[number] for number in runs}
    techniques = {
        number: choose(layer, core, widths.of_layer(layer), optimize, named.get(number))
        for number, layer in layers.items()
    }
    whole = Schedule(graph, widths, steps, techniques)
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
    fast = {number: _fastest(schedule, number, core, named.get(number)) for number in schedule.techniques}
    slow = [number for number, technique in schedule.techniques.items() if fast[number] is not technique]
    free = replace(schedule, moves=tuple(sorted(_all_moves(schedule))))

    def build(some: Sequence[int]) -> Schedule:
        return replace(free, techniques=fast | {number: schedule.techniques[number] for number in some})

    layers = schedule.graph.layers
    needed = fewest(sorted(slow, key=lambda number: -layers[number].macc), build, 0)
    return replace(build(needed), moves=())


def _fastest(schedule: Schedule, number: int, core: str, name: str | None) -> Technique:
    """Return the fastest technique of a layer, of those that suit a band where it runs in bands."""
    layer = schedule.graph.layers[number]
    technique = choose(layer, core, schedule.widths.of_layer(layer), name=name)
    own = replace(schedule, techniques={**schedule.techniques, number: technique})
    fit = all(suits(own, core, producer, bands) for producer, bands in schedule.bands.items())
    return technique if fit else schedule.techniques[number]


def _all_moves(schedule: Schedule) -> list[Move]:
    """Return a move before every layer for each of its inputs, the longest first."""
    moves = {
        Move(turn, source)
        for layer, turn in schedule.turns.items()
        for source in schedule.graph.predecessors[layer]
        if source not in schedule.bands
    }
    return sorted(moves, key=lambda move: (-schedule.graph.size(move.tensor), move))
