"""What boards send each other between two layers, for all options of both at once, and when parts may begin and end.

Arrays by [option of the source][option of the reader][sender a][receiver b].
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.network.graph import Graph
from tinysplit.network.layers.distributed.partial_sum import SUM_BITS, can_sum_rows
from tinysplit.network.layers.joining import Elementwise, Joining
from tinysplit.network.parts import has_rows, reads_whole_input, rows_of_source
from tinysplit.slices.exact.problem import Arrivals, Flags, Floats, Integers
from tinysplit.slices.options import Options
from tinysplit.slices.part_costs import PartCosts
from tinysplit.slices.transfer_costs import TransferCosts


class Side(NamedTuple):
    """A tensor: its options, seconds of its parts by [option][board], and the bytes of an element."""

    options: Options
    seconds: Floats
    element_bytes: int


@dataclass(frozen=True, eq=False)
class Reading:
    """What a layer reads of a source.

    `sent_share` is the part of what a has that it sends b, `waiting_share` the part of what b computes that waits for
    it. `seconds` replace those of the layer where they depend on the source: [option of the source][option][board].
    """

    source: Side
    own: Side
    allowed: Flags
    n_bytes: Integers
    sent_share: Floats
    waiting_share: Floats
    seconds: Floats | None = None

    @classmethod
    def of(cls, graph: Graph, number: int, k: int, source: Side, own: Side, costs: PartCosts) -> Self:
        """Return what input k of layer `number` needs of its source."""
        layer = graph.layers[number]
        whole = cls.of_all(source, own)
        if not isinstance(layer, Joining) and not reads_whole_input(layer):
            whole = whole.by_same_channels()
        if isinstance(layer, Elementwise):
            whole = whole.with_one_distribution()
        if has_rows(graph, number):
            whole = whole.by_rows(graph, number, k)
        if can_sum_rows(layer, costs.widths.of_layer(layer).x):
            whole = whole.by_sums(number, costs)
        return whole

    @classmethod
    def of_all(cls, source: Side, own: Side) -> Self:
        """Return a reading in which each board with a part of the reader needs the whole source."""
        shape, sizes = source.options.shape, source.options.sizes
        row_bytes = source.element_bytes * np.where(
            source.options.is_by_rows, shape.width * shape.channels, shape.height * shape.width
        )
        has_part = own.options.sizes > 0
        apart = ~np.eye(sizes.shape[1], dtype=bool)
        n_bytes = (sizes * row_bytes[:, None])[:, None, :, None] * (has_part[None, :, None, :] & apart)
        is_sent = (n_bytes > 0).astype(float)
        return cls(source, own, np.ones(n_bytes.shape[:2], bool), n_bytes, is_sent, is_sent)

    def _where(self, flags: Flags, n_bytes: Integers, sent: Floats, waiting: Floats) -> Self:
        """Return the reading with other numbers for some combinations of options."""
        which = flags[..., None, None]
        return replace(
            self,
            n_bytes=np.where(which, n_bytes, self.n_bytes),
            sent_share=np.where(which, sent, self.sent_share),
            waiting_share=np.where(which, waiting, self.waiting_share),
        )

    def _sending_nothing(self, flags: Flags) -> Self:
        """Return the reading in which nothing is sent for some combinations of options."""
        zeros = np.zeros(self.n_bytes.shape)
        return self._where(flags, zeros.astype(int), zeros, zeros)

    def by_same_channels(self) -> Self:
        """Let channels need the same channels of the source: nothing is sent, and each board has to have its own."""
        by_channels = ~self.own.options.is_by_rows[None, :]
        is_same = self._is_one_distribution()
        found = self._sending_nothing(is_same & by_channels)
        return replace(found, allowed=found.allowed & (is_same | ~by_channels))

    def _is_one_distribution(self) -> Flags:
        """Return whether both have the same parts by the same axis."""
        source, own = self.source.options, self.own.options
        is_same: Flags = np.array([[a == b for b in own.distributions] for a in source.distributions])
        return is_same

    def with_one_distribution(self) -> Self:
        """Give inputs and output of an elementwise layer one distribution, so that nothing is sent."""
        is_same = self._is_one_distribution()
        return replace(self._sending_nothing(is_same), allowed=self.allowed & is_same)

    def by_rows(self, graph: Graph, number: int, k: int) -> Self:
        """Let rows need rows of the source, where both are divided by rows."""
        source, own = self.source.options, self.own.options
        height = graph.layers[number].out_shape.height
        reads = [rows_of_source(graph, number, k, range(row, row + 1)) for row in range(height)]
        firsts, ends = np.array([rows.start for rows in reads]), np.array([rows.stop for rows in reads])
        has_part = own.sizes > 0
        need_from = np.where(has_part, firsts[np.minimum(own.starts, height - 1)], 0)
        need_to = np.where(has_part, ends[np.clip(own.stops, 1, height) - 1], 0)
        starts, stops = source.starts[:, None, :, None], source.stops[:, None, :, None]
        rows = np.minimum(stops, need_to[None, :, None, :]) - np.maximum(starts, need_from[None, :, None, :])
        rows = np.maximum(rows, 0) * ~np.eye(source.sizes.shape[1], dtype=bool)
        sent = rows / np.maximum(source.sizes, 1)[:, None, :, None]
        # output rows from the first that reads the sender's last row or one before to the last that reads its first
        last = np.minimum(np.searchsorted(firsts, stops, "left"), own.stops[None, :, None, :])
        first = np.maximum(np.searchsorted(ends, starts, "right"), own.starts[None, :, None, :])
        waiting = np.maximum(last - first, 0) / np.maximum(own.sizes, 1)[None, :, None, :] * (rows > 0)
        shape = source.shape
        n_bytes = rows * (shape.width * shape.channels * self.source.element_bytes)
        both = source.is_by_rows[:, None] & own.is_by_rows[None, :]
        found = self._where(both, n_bytes, sent, waiting)
        allowed = found.allowed & ~(both & self._reaches_too_far(rows))
        return replace(found, allowed=allowed & ~self._is_unaligned(has_part, need_from))

    def _is_unaligned(self, has_part: Flags, need_from: Integers) -> Flags:
        """Return where rows are read that begin within a word of a tensor of which a board has all rows."""
        source, own = self.source.options, self.own.options
        row_bytes = source.shape.width * source.shape.channels * self.source.element_bytes
        within = has_part & own.is_by_rows[:, None] & (need_from * row_bytes % WORD_BYTES != 0)
        owners = source.sizes > 0
        has_all = np.where(source.is_by_rows[:, None], owners & (owners.sum(axis=1) == 1)[:, None], True)
        unaligned: Flags = (has_all[:, None] & within[None]).any(axis=2)
        return unaligned

    @property
    def keeps_owners(self) -> Flags:
        """Whether the same boards have parts of both."""
        same: Flags = ((self.source.options.sizes > 0)[:, None] == (self.own.options.sizes > 0)[None, :]).all(axis=2)
        return same

    def _reaches_too_far(self, rows: Integers) -> Flags:
        """Return where a tile needs rows of a board that is not next to it, as the tile between has fewer rows."""
        places = self.source.options.positions
        apart = np.abs(places[:, :, None] - places[:, None, :]) > 1
        too_far: Flags = self.keeps_owners & ((rows > 0) & apart[:, None]).any(axis=(2, 3))
        return too_far

    def by_sums(self, number: int, costs: PartCosts) -> Self:
        """Let each board sum its rows of a map: the sums are averaged on one board."""
        source, own = self.source.options, self.own.options
        n_owners = (source.sizes > 0).sum(axis=1)
        sums = (source.is_by_rows & (n_owners > 1))[:, None] & own.is_by_rows[None, :]
        summing = np.array(
            [
                [costs.of_sums(number, board, part).seconds if part else 0.0 for board, part in enumerate(parts)]
                if is_by_rows
                else [0.0] * len(parts)
                for parts, is_by_rows in zip(source.parts, source.is_by_rows, strict=True)
            ]
        )
        is_sent = self.n_bytes > 0
        n_bytes = is_sent * (source.shape.channels * SUM_BITS // 8)
        found = self._where(sums, n_bytes, is_sent.astype(float), np.zeros(n_bytes.shape))
        seconds = np.where(sums[..., None], summing[:, None], self.own.seconds[None])
        return replace(found, seconds=seconds)


def arrivals_of(reading: Reading, costs: TransferCosts) -> Arrivals:
    """Return when boards may begin and end their parts.

    A board sends a halo to another one after its share of the part's time, where that one has a part of the tensor, and
    the board itself one of the layer; otherwise when the part has ended. What does not wait for the tensor is computed
    before it is there. A relay waits for what it passes on, before its own part.
    """
    has_source, has_part = reading.source.options.sizes > 0, reading.own.options.sizes > 0
    is_halo = has_source[:, None, None, :] & has_part[None, :, :, None]
    sends_all = (reading.sent_share == 1) | ~is_halo
    head = np.where(sends_all, 0.0, reading.sent_share * reading.source.seconds[:, None, :, None])
    begin = head + costs.arrival_s
    seconds = reading.own.seconds[None] if reading.seconds is None else reading.seconds
    end = begin + reading.waiting_share * seconds[:, :, None, :]
    waits = reading.waiting_share == 1

    def where(flags: Flags, values: Floats) -> Floats:
        return np.where(flags, values, -np.inf)

    begin_to_begin, end_to_begin = where(~sends_all & waits, begin), where(sends_all & waits, begin)
    begin_to_end, end_to_end = where(~sends_all, end), where(sends_all, end)
    for a, b, relay, arrival_s in costs.relaying:
        at = (..., a, relay)
        for is_own, to_begin, to_end in (
            (~sends_all, begin_to_begin, begin_to_end),
            (sends_all, end_to_begin, end_to_end),
        ):
            relayed = where(is_own[..., a, b], head[..., a, b] + arrival_s)
            to_begin[at] = np.maximum(to_begin[at], relayed)
            to_end[at] = np.maximum(to_end[at], relayed + seconds[..., relay])
    return Arrivals(begin_to_begin, begin_to_end, end_to_begin, end_to_end)
