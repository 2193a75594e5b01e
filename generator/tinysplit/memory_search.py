"""What a board does to need little RAM: layers in bands, tensors that move, slower kernels that need less."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from tinysplit.bands import Bands
from tinysplit.bit_widths import BitWidths
from tinysplit.board_memory import BoardMemory, Move, Schedule, readers_of
from tinysplit.board_steps import Step, StepKind
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
    schedule = _in_bands(Schedule(graph, widths, steps, techniques), core)
    if optimize is Optimize.RAM:
        return _moving(_with_fast_kernels(schedule, core, named), 0).memory()
    return (schedule if schedule.size_bytes <= ram_bytes else _moving(schedule, ram_bytes)).memory()


def _in_bands(schedule: Schedule, core: str) -> Schedule:
    def build(bands: Sequence[tuple[int, Bands]]) -> Schedule:
        return replace(schedule, bands=dict(bands))

    return build(_fewest(list(_all_bands(schedule, core)), build, 0))


def _moving(schedule: Schedule, wanted_bytes: int) -> Schedule:
    def build(moves: Sequence[Move]) -> Schedule:
        return replace(schedule, moves=tuple(sorted(moves)))

    return build(_fewest(_all_moves(schedule), build, wanted_bytes))


def _with_fast_kernels(schedule: Schedule, core: str, named: Mapping[int, str]) -> Schedule:
    """Return the schedule with the fastest kernels that take no more RAM, whatever moves; the longest layers first."""
    fast = {number: _fastest(schedule, number, core, named.get(number)) for number in schedule.techniques}
    slow = [number for number, technique in schedule.techniques.items() if fast[number] is not technique]
    free = replace(schedule, moves=tuple(sorted(_all_moves(schedule))))

    def build(some: Sequence[int]) -> Schedule:
        return replace(free, techniques=fast | {number: schedule.techniques[number] for number in some})

    layers = schedule.graph.layers
    needed = _fewest(sorted(slow, key=lambda number: -layers[number].macc), build, 0)
    return replace(build(needed), moves=())


def _fastest(schedule: Schedule, number: int, core: str, name: str | None) -> Technique:
    """Return the fastest technique of a layer, of those that suit a band where it runs in bands."""
    layer = schedule.graph.layers[number]
    widths = schedule.widths.of_layer(layer)
    technique = choose(layer, core, widths, name=name)
    bands = schedule.bands.get(number)
    suits = bands is None or (technique.walks_rows and technique.fits(bands.producer, core, widths))
    return technique if suits else schedule.techniques[number]


Option = TypeVar("Option")


def _fewest(options: list[Option], build: Callable[[Sequence[Option]], Schedule], wanted_bytes: int) -> list[Option]:
    """Return options, as few as it takes for the least arena or one of `wanted_bytes`; the first are left out first."""
    if not options:
        return []
    least_bytes = build(options).size_bytes
    if least_bytes >= build([]).size_bytes:
        return []
    enough_bytes = max(least_bytes, wanted_bytes)
    for option in list(options):
        rest = [other for other in options if other != option]
        if build(rest).size_bytes <= enough_bytes:
            options = rest
    return options


def _all_bands(schedule: Schedule, core: str) -> Iterator[tuple[int, Bands]]:
    """Yield the layers of a board that can walk with the one behind them, which nothing else reads."""
    graph, sent = schedule.graph, {step.tensor for step in schedule.steps if step.kind is StepKind.SEND}
    for number, technique in schedule.techniques.items():
        readers = readers_of(graph, number)
        if len(readers) != 1 or readers[0] not in schedule.techniques or number in sent:
            continue
        bands = Bands.of(graph.layers[number], graph.layers[readers[0]])
        if (
            bands
            and technique.walks_rows
            and technique.fits(bands.producer, core, schedule.widths.of_layer(bands.producer))
        ):
            yield number, bands


def _all_moves(schedule: Schedule) -> list[Move]:
    """Return a move before every layer for each of its inputs, the longest first."""
    moves = {
        Move(turn, source)
        for layer, turn in schedule.turns.items()
        for source in schedule.graph.predecessors[layer]
        if source not in schedule.bands
    }
    return sorted(moves, key=lambda move: (-schedule.graph.size(move.tensor), move))
