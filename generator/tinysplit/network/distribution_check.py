"""What a network cannot be distributed by: holes, overlaps, layers that cannot be divided so, tiles below a halo."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tinysplit.common.errors import InputError
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.parts import can_be_sliced, has_rows, reads_whole_input, rows_of_source, rows_read


def check_distributions(graph: Graph, how: Distributions, n_boards: int) -> None:
    """Raise InputError, in a line that names layer, board and number, where a network cannot be distributed so."""
    for reason in reasons_against(graph, how, n_boards):
        raise InputError(reason)


def reasons_against(graph: Graph, how: Distributions, n_boards: int) -> Iterator[str]:
    """Yield why a network cannot be distributed so, a line each. Boards without any part are fine."""
    if len(how.layers) != len(graph.layers):
        yield f"{len(how.layers)} layers are divided, but {graph.name!r} has {len(graph.layers)}"
        return
    uncovered = [reason for number in range(len(graph.layers)) for reason in _uncovered(graph, how, number, n_boards)]
    yield from uncovered
    if uncovered:
        return
    for number, divided in enumerate(how.layers):
        check = _against_slices if divided.axis is SliceAxis.CHANNELS else _against_tiles
        yield from check(graph, how, number)
    last = how.layers[-1]
    if last.is_whole and last.owners != (how.output_board,):
        boards = _boards(last.owners)
        yield f"{_name(graph, -1)}: the network's output is wanted on board {how.output_board + 1}, and is on {boards}"


def _uncovered(graph: Graph, how: Distributions, number: int, n_boards: int) -> Iterator[str]:
    """Yield what of a tensor is on no board, on several ones, or not in the tensor."""
    name, divided = _name(graph, number), how.layers[number]
    axis = divided.axis
    size = divided.axis.size(graph.shape(number))
    if len(divided.parts) != n_boards:
        yield f"{name}: it is divided over {len(divided.parts)} boards, and there are {n_boards}"
        return
    for board in divided.owners:
        part = divided.parts[board]
        if part.start < 0 or part.stop > size:
            yield f"{name}: board {board + 1} has {_range(axis, part)}, and there are {size}"
    ranges = [range(0), *(divided.parts[board] for board in divided.owners), range(size, size)]
    for before, after in pairwise(ranges):
        if before.stop < after.start:
            yield f"{name}: {_range(axis, range(before.stop, after.start))} of {size} are on no board"
    for board, other in pairwise(divided.owners):
        shared = range(divided.parts[other].start, min(divided.parts[board].stop, divided.parts[other].stop))
        if shared:
            yield f"{name}: {_range(axis, shared)} of {size} are on {_boards((board, other))}"


def _against_slices(graph: Graph, how: Distributions, number: int) -> Iterator[str]:
    """Yield why a layer cannot be divided by channels."""
    layer = graph.layers[number]
    divided = how.layers[number]
    name = _name(graph, number)
    if not can_be_sliced(layer):
        yield f"{name}: {layer.kind} cannot be divided by channels, over {_boards(divided.owners)}"
        return
    if reads_whole_input(layer):
        return
    for source in graph.predecessors[number]:
        given = None if source == NETWORK_INPUT else how.layers[source]
        for board in divided.owners:
            computed = _range(SliceAxis.CHANNELS, divided.parts[board])
            if given is None or given.axis is not SliceAxis.CHANNELS:
                yield f"{name}: board {board + 1} computes {computed}, but {_tensor(graph, source)} is not divided so"
                return
            if given.parts[board] != divided.parts[board]:
                present = _range(SliceAxis.CHANNELS, given.parts[board]) if given.parts[board] else "none"
                yield f"{name}: board {board + 1} computes {computed}, but has {present} of {_tensor(graph, source)}"
                return


def _against_tiles(graph: Graph, how: Distributions, number: int) -> Iterator[str]:
    """Yield why a layer cannot be divided by rows."""
    layer = graph.layers[number]
    divided = how.layers[number]
    name = _name(graph, number)
    if divided.is_whole:
        return
    if not has_rows(graph, number):
        yield f"{name}: {layer.kind} cannot be divided by rows, over {_boards(divided.owners)}"
        return
    for row in range(layer.out_shape.height):
        if any(rows_read(layer, k, range(row, row + 1)) is None for k in range(len(layer.in_shapes))):
            yield f"{name}: row {row + 1} reads nothing but padding, so that the layer cannot be divided by rows"
            return
    for k, source in enumerate(graph.predecessors[number]):
        given = None if source == NETWORK_INPUT else how.layers[source]
        if given is not None and given.axis is SliceAxis.ROWS and given.owners == divided.owners:
            yield from _below_halo(graph, number, k, given, divided)


def _below_halo(graph: Graph, number: int, k: int, given: Distribution, divided: Distribution) -> Iterator[str]:
    """Yield the tiles of an input that have fewer rows than a neighbour reads beyond its own."""
    source = graph.predecessors[number][k]
    for upper, lower in pairwise(divided.owners):
        reads = [rows_of_source(graph, number, k, divided.parts[board]) for board in (upper, lower)]
        for board, other, halo in (
            (upper, lower, reads[0].stop - given.parts[upper].stop),
            (lower, upper, given.parts[lower].start - reads[1].start),
        ):
            if halo > len(given.parts[other]):
                rows, its = f"{halo} rows", len(given.parts[other])
                yield (
                    f"{_name(graph, number)}: board {board + 1} needs {rows} of {_tensor(graph, source)} next to its"
                    f" own, but board {other + 1} has {its}"
                )


def _name(graph: Graph, number: int) -> str:
    return f"layer {graph.layers[number].name!r}"


def _tensor(graph: Graph, source: int) -> str:
    return f"input {graph.input_name!r}" if source == NETWORK_INPUT else _name(graph, source)


def _range(axis: SliceAxis, part: range) -> str:
    """Return a range as users count, from 1: `rows 1-12`."""
    return f"{axis} {part.start + 1}-{part.stop}" if len(part) > 1 else f"{axis.value[:-1]} {part.start + 1}"


def _boards(boards: Sequence[int]) -> str:
    numbers = [str(board + 1) for board in boards]
    if len(numbers) == 1:
        return f"board {numbers[0]}"
    return f"boards {', '.join(numbers[:-1])} and {numbers[-1]}"
