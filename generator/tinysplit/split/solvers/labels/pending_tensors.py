"""Pending tensors: which devices still read a tensor. They are the state of a partial assignment."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import NamedTuple


class PendingTensor(NamedTuple):
    """Devices that will read a tensor that was computed.

    Those of `first` do so for the first time in this order, where the order counts; those of `again`, a bit each, at
    any time.
    """

    first: tuple[int, ...]
    again: int

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.first) + self.again.bit_count()

    @property
    def mask(self) -> int:
        """Every device, a bit each."""
        return sum((1 << device for device in self.first), self.again)

    def devices(self) -> tuple[int, ...]:
        """Return every device."""
        return (*self.first, *_bits(self.again))

    def next_readers(self) -> tuple[int, ...]:
        """Return the devices that may read next."""
        return (*self.first[:1], *_bits(self.again))

    def read_on(self, device: int, readers_left: int) -> Iterator["PendingTensor"]:
        """Yield what may be needed after a layer on `device`, one of `next_readers`, has read the tensor."""
        first = self.first[1:] if self.first[:1] == (device,) else self.first
        again = self.again & ~(1 << device)
        for after in (pending_tensor(first, again), pending_tensor(first, again | 1 << device)):
            if after.n_devices <= readers_left and bool(after.n_devices) == bool(readers_left):
                yield after


def pending_tensor(first: tuple[int, ...], again: int = 0) -> PendingTensor:
    """Return the canonical form: a single device has no order."""
    return PendingTensor((), again | 1 << first[0]) if len(first) == 1 else PendingTensor(first, again)


def all_pending_tensors(devices: Sequence[int], n_readers: int, *, is_ordered: bool) -> Iterator[PendingTensor]:
    """Yield the sets of devices that may read a new tensor, each with at least one of its readers."""
    for count in range(1, min(n_readers, len(devices)) + 1):
        if is_ordered:
            yield from map(pending_tensor, permutations(devices, count))
        else:
            yield from (PendingTensor((), sum(1 << device for device in some)) for some in combinations(devices, count))


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
