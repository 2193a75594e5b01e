"""The layers of the network, or the parts of them that boards compute: times, cycles, kernels, memory and noise."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from tinysplit.common.tables import shortened
from tinysplit.common.units import MS
from tinysplit.project.manifest import ProjectLayer
from tinysplit.project.network_numbers import layer_number
from tinysplit.project.validation_file import FileLayerError, Validation
from tinysplit_hil.html_report.network import ram_bytes
from tinysplit_hil.html_report.sortable_table import Cell, Column, SortableTable, numbers
from tinysplit_hil.html_report.sources import Sources

_NAME_LENGTH = 26


def layer_table(sources: Sources) -> SortableTable:
    """Return the table of the layers of the slowest copy, in their order."""
    layers = sources.project.slowest.layers
    columns = [*_what(layers), *_times(sources, layers)]
    columns.append(numbers("MACC", [layer.macc for layer in layers], ",d"))
    columns.append(numbers("flash, bytes", [layer.weights_bytes for layer in layers], ",d"))
    columns.append(numbers("RAM, bytes", [ram_bytes(layer) for layer in layers], ",d"))
    if sources.validation:
        columns += _noise(sources.validation, layers)
    return SortableTable("layers", tuple(columns))


def _what(layers: Sequence[ProjectLayer]) -> Iterator[Column]:
    """Yield what each layer is, and where it runs."""
    names = [
        Cell(f"{layer_number(layer)} {shortened(layer.name, _NAME_LENGTH)}", layer_number(layer), tooltip=layer.name)
        for layer in layers
    ]
    yield Column("layer", tuple(names), is_number=False)
    if any(layer.part for layer in layers):
        yield Column("part", tuple(Cell(str(layer.part or "-")) for layer in layers), is_number=False)
    yield numbers("board", [layer.board for layer in layers], "d")
    kernels = (Cell(layer.memory.kernel, details=tuple(layer.memory.why.split("; "))) for layer in layers)
    yield Column("kernel", tuple(kernels), is_number=False)


def _times(sources: Sources, layers: Sequence[ProjectLayer]) -> Iterator[Column]:
    """Yield times and cycles, estimated and, where there are any, measured: cycles a MAC are those measured."""
    estimated_ms = [MS * layer.estimated_s for layer in layers]
    cycles: dict[int, float] = {layer.number: layer.estimated_cycles for layer in layers}
    if sources.measurement:
        measured = {layer.number: layer for layer in sources.measurement.layers}
        known = [measured.get(layer.number) for layer in layers]
        yield numbers(
            f"{sources.measured}, ms", [MS * each.measured_s if each else None for each in known], ".3f", has_bars=True
        )
        cycles = {layer.number: layer.cycles for layer in measured.values()}
    yield numbers("estimated, ms", estimated_ms, ".3f", has_bars=not sources.measurement)
    of_layers = [cycles.get(layer.number) for layer in layers]
    yield numbers("cycles", of_layers, ",.0f")
    per_mac = [
        count / layer.macc if count and layer.macc else None for count, layer in zip(of_layers, layers, strict=True)
    ]
    yield numbers("cycles/MAC", per_mac, ".2f")


def _noise(validation: Validation, layers: Sequence[ProjectLayer]) -> Iterator[Column]:
    """Yield signal to noise of outputs, of what layers add themselves, and of the worst channels."""
    known = {layer.number: layer for layer in validation.layers}
    errors = [known.get(layer_number(layer)) for layer in layers]
    sums = [(inf if error.is_exact else error.sqnr_db) if error else None for error in errors]
    yield numbers("SQNR, dB", sums, ".1f", has_bars=True)
    of_layers = [(inf if error.adds_nothing else error.own_sqnr_db) if error else None for error in errors]
    own = numbers("own, dB", of_layers, ".1f")
    marked = (_marked(cell, error, validation.loses_most) for cell, error in zip(own.cells, errors, strict=True))
    yield replace(own, cells=tuple(marked))
    worst = numbers("worst channel, dB", [error.worst_channel_sqnr_db if error else None for error in errors], ".1f")
    named = (
        replace(cell, text=f"{cell.text} ({error.worst_channel})") if error and error.worst_channel else cell
        for cell, error in zip(worst.cells, errors, strict=True)
    )
    yield replace(worst, cells=tuple(named))


def _marked(cell: Cell, error: FileLayerError | None, loses_most: int | None) -> Cell:
    is_most = error is not None and error.number == loses_most
    return replace(cell, is_marked=True, tooltip="adds most noise") if is_most else cell
