"""Which layers of a board walk in bands, and of how many rows: what makes the arena small at no great cost of time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.costs.problem_builder import kernel_cycles
from tinysplit.kernels import TABLE_ERROR, Optimize
from tinysplit.memory.arena import least_at
from tinysplit.memory.fewest import fewest
from tinysplit.memory.fused_rows import Bands
from tinysplit.memory.layout import MOVE_CYCLES, Schedule, readers_of
from tinysplit.memory.schedule import StepKind
from tinysplit.network.layers import Layer

Option = tuple[int, Bands]  # a producer, and how it walks with the layer behind it


def in_bands(schedule: Schedule, core: str, optimize: Optimize) -> Schedule:
    """Return the schedule with layers in bands where that makes the arena smaller, of as many rows as that allows.

    Unless RAM is all that counts, they may not take longer than whole layers by more than the error of predictions.
    """
    walks = {number: list(_walks(schedule, core, optimize, number)) for number in _producers(schedule)}
    shortest = _apart(schedule, [(number, own[-1]) for number, own in walks.items() if own])
    return _with_bands(schedule, _longest(schedule, dict(_needed(schedule, shortest)), walks))


def _with_bands(schedule: Schedule, options: Sequence[Option]) -> Schedule:
    return replace(schedule, bands=dict(options))


def _needed(schedule: Schedule, options: list[Option]) -> list[Option]:
    """Return options, as few as the least arena takes: often those without whose bands a step alone takes more."""
    least_bytes = _with_bands(schedule, options).size_bytes
    if schedule.fits(least_bytes):
        return []
    blocks, turns = list(schedule.blocks()), schedule.turns
    certain = [
        (number, bands)
        for number, bands in options
        if any(least_at(blocks, turns[each]) > least_bytes for each in (number, *readers_of(schedule.graph, number)))
    ]
    if _with_bands(schedule, certain).fits(least_bytes):
        return certain
    return fewest(options, lambda some: _with_bands(schedule, some), 0)


def _producers(schedule: Schedule) -> Iterator[int]:
    """Yield the layers of a board behind which there is another one, which nothing else reads."""
    sent = {step.tensor for step in schedule.steps if step.kind is StepKind.SEND}
    for number in schedule.kernels:
        readers = readers_of(schedule.graph, number)
        if len(readers) == 1 and readers[0] in schedule.kernels and number not in sent:
            yield number


def _walks(schedule: Schedule, core: str, optimize: Optimize, number: int) -> Iterator[Bands]:
    """Yield how a layer can walk with the one behind it, the longest bands first."""
    (reader,), layers = readers_of(schedule.graph, number), schedule.graph.layers
    for out_rows in range(layers[reader].out_shape.height // 2, 0, -1):
        bands = Bands.of(layers[number], layers[reader], out_rows)
        if not bands or not suits(schedule, core, number, bands):
            continue
        if optimize is Optimize.RAM or not _is_slow(schedule, core, number, bands):
            yield bands


def suits(schedule: Schedule, core: str, number: int, bands: Bands) -> bool:
    """Return whether the kernels of a producer and its consumer can compute bands."""
    (reader,), kernels = readers_of(schedule.graph, number), schedule.kernels
    return kernels[number].suits_fused_rows and all(
        kernels[each].fits(layer, core, schedule.widths.of_layer(schedule.graph.layers[each]))
        for each, layer in ((number, bands.producer), (reader, bands.consumer))
    )


def _apart(schedule: Schedule, options: Sequence[Option]) -> list[Option]:
    """Return options such that no layer walks with two others: those between which most lies."""
    taken: set[int] = set()
    apart = []
    for number, bands in sorted(options, key=lambda option: -schedule.graph.size(option[0])):
        layers = {number, *readers_of(schedule.graph, number)}
        if not layers & taken:
            taken |= layers
            apart.append((number, bands))
    return sorted(apart, key=lambda option: option[0])


def _longest(schedule: Schedule, bands: dict[int, Bands], walks: Mapping[int, Sequence[Bands]]) -> list[Option]:
    """Return bands of as many rows as no larger an arena takes: fewer are gathered twice, filled or moved then."""
    least_bytes = _with_bands(schedule, list(bands.items())).size_bytes
    for number in list(bands):
        longer = ({**bands, number: own} for own in walks[number])
        bands = next(each for each in longer if _with_bands(schedule, list(each.items())).fits(least_bytes))
    return list(bands.items())


def _is_slow(schedule: Schedule, core: str, number: int, bands: Bands) -> bool:
    """Return whether two layers take longer in bands than one after the other."""
    (reader,), graph = readers_of(schedule.graph, number), schedule.graph

    def cycles(own: int, layer: Layer, times: int = 1) -> float:
        widths = schedule.widths.of_layer(graph.layers[own])
        return kernel_cycles(layer, core, widths, schedule.kernels[own], times)

    whole = cycles(number, graph.layers[number]) + cycles(reader, graph.layers[reader])
    parts = cycles(number, bands.producer, bands.calls) + cycles(reader, bands.consumer, bands.count)
    value_bytes = schedule.widths.of_layer(graph.layers[number]).y // 8
    return parts + bands.moved_size * value_bytes / WORD_BYTES * MOVE_CYCLES > (1 + TABLE_ERROR) * whole
