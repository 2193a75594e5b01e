"""Constants of layers that are copied from flash or external memory to RAM before the layer runs, where that is faster.

Kernels read constants once for each group of output pixels, and a read of flash makes the core wait. The copy takes RAM
that is idle while the layer runs: no arena grows over the RAM of its board for it, and no tensor moves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from typing import NamedTuple, Self

from typing_extensions import override

from tinysplit.boards.board import Board
from tinysplit.boards.external_memory import ExternalMemory
from tinysplit.boards.parts import Memory
from tinysplit.common.alignment import WORD_BYTES, aligned

COPY_CYCLES = 23 / 8  # per word: LDM and STM of four words, and the loop (firmware/common/words.c), on all cores
CALL_CYCLES = 50  # of a copy, with the words that fill no block: counted in its code


class ByteRange(NamedTuple):
    """The bytes from `begin` up to `end` of the arena."""

    begin: int
    end: int


@dataclass(frozen=True)
class LayerConstants:
    """The constants of a layer: bytes by name, and the bytes that its kernel reads, counted each time they are read.

    `load_bytes` are those of one of its load instructions.

    In the external memory, the kernel's own cycles count, too, in which the memory reads ahead, and whether the kernel
    reads each array from begin to end.
    """

    sizes: Mapping[str, int] = field(hash=False)
    read_bytes: int
    load_bytes: float = WORD_BYTES
    is_external: bool = False
    kernel_cycles: float = 0.0
    are_read_forward: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes of all, in whole words."""
        return sum(aligned(size) for size in self.sizes.values())

    def in_external(
        self, sizes: Mapping[str, int], kernel_cycles: float, *, reads_forward: bool, bound_bytes: int | None = None
    ) -> Self:
        """Return the same in the external memory, with `sizes` that are known now.

        `read_bytes` are those of `bound_bytes`, None: of the sizes so far.
        """
        share = sum(sizes.values()) / (bound_bytes or self.size_bytes)
        return replace(
            self,
            sizes=sizes,
            read_bytes=round(self.read_bytes * share),
            is_external=True,
            kernel_cycles=kernel_cycles,
            are_read_forward=reads_forward,
        )


@dataclass(frozen=True)
class FlashWaits:
    """How long a core waits for constants in flash: for the loads that its data cache does not hold."""

    wait_cycles: int
    line_bytes: int | None  # that one wait makes available; without a data cache each load waits
    cache_bytes: int  # that surely hold constants, wherever these begin

    @classmethod
    def of(cls, board: Board) -> "FlashWaits":
        """Return the waits of a board at its clock, without those of other accesses to its flash."""
        flash, caches = board.flash_level, board.caches
        access_bytes = flash.access_bytes if caches.data_bytes else None
        return cls(flash.wait_cycles, access_bytes, max(0, caches.data_bytes - caches.line_bytes))

    @classmethod
    def of_ram(cls, board: Board, memory: Memory) -> "FlashWaits":
        """Return those for a RAM: none next to the core, elsewhere for the lines that the data cache fetches."""
        level, caches = next(each for each in board.memory_levels if each.name == memory.name), board.caches
        return cls(level.wait_cycles, caches.line_bytes, max(0, caches.data_bytes - caches.line_bytes))

    def reading(self, constants: LayerConstants) -> float:
        """Return the cycles for which a kernel waits if its constants lie in flash."""
        is_cached = constants.size_bytes <= self.cache_bytes
        return self._waits(constants.size_bytes if is_cached else constants.read_bytes, constants.load_bytes)

    def copying(self, constants: LayerConstants) -> float:
        """Return the cycles for which the copy of the constants waits."""
        return self._waits(constants.size_bytes, WORD_BYTES)

    def _waits(self, n_bytes: int, load_bytes: float) -> float:
        return self.wait_cycles * n_bytes / (self.line_bytes or load_bytes)


@dataclass(frozen=True)
class ExternalWaits:
    """How long a core waits for constants in a serial flash: it reads ahead while they are read one after the other."""

    burst_cycles: int
    byte_cycles: int

    @classmethod
    def of(cls, external: ExternalMemory) -> "ExternalWaits":
        """Return the waits for a memory at the clock of its board."""
        return cls(external.burst_cycles, external.byte_cycles)

    def reading(self, constants: LayerConstants) -> float:
        """Return the cycles for which a kernel waits."""
        meanwhile = constants.kernel_cycles if constants.are_read_forward else 0.0
        return self._waits(_bursts(constants), constants.read_bytes, meanwhile)

    def copying(self, constants: LayerConstants) -> float:
        """Return the cycles for which the copy of the constants waits."""
        n_bytes = constants.size_bytes
        return self._waits(len(constants.sizes), n_bytes, COPY_CYCLES * n_bytes / WORD_BYTES)

    def active(self, constants: LayerConstants, *, is_copied: bool) -> float:
        """Return the cycles in which the memory is read."""
        bursts, n_bytes = _bursts(constants), constants.read_bytes
        if is_copied:
            bursts, n_bytes = len(constants.sizes), constants.size_bytes
        return bursts * self.burst_cycles + n_bytes * self.byte_cycles

    def _waits(self, bursts: float, n_bytes: int, meanwhile_cycles: float) -> float:
        return bursts * self.burst_cycles + max(0.0, n_bytes * self.byte_cycles - meanwhile_cycles)


def _bursts(constants: LayerConstants) -> float:
    """Return the commands that a kernel's reads need: one for each pass, or for each byte if it jumps."""
    if not constants.are_read_forward:
        return constants.read_bytes
    return len(constants.sizes) * max(1.0, constants.read_bytes / max(1, constants.size_bytes))


def _waits_of(board: Board, constants: LayerConstants) -> FlashWaits | ExternalWaits:
    return ExternalWaits.of(board.external) if board.external and constants.is_external else FlashWaits.of(board)


def copy_cycles(constants: LayerConstants) -> float:
    """Return the cycles of copying the constants of a layer, without waits."""
    return CALL_CYCLES * len(constants.sizes) + COPY_CYCLES * constants.size_bytes / WORD_BYTES


class Decrypted(Enum):
    """When the constants of a layer are decrypted into RAM: never, once for all inferences, or in each inference."""

    NEVER = "never"
    ONCE = "once"
    EACH_TIME = "each time"


class Residence(NamedTuple):
    """Where constants lie that are in RAM from the start: next to the variables, or far, and the waits for them."""

    is_far: bool
    wait_cycles: float


class ExternalReads(NamedTuple):
    """Cycles in which the external memory is read: by the kernel, or for a copy."""

    by_kernel: float
    for_copy: float


@dataclass(frozen=True)
class PlacedConstants:
    """Where the constants of a layer lie while it runs, and the cycles that decided it.

    `offsets` are those of the copy in the arena by name, none if the kernel reads them where they are stored, or were
    decrypted once; `waits_in_flash` are then those in their RAM. Constants that are decrypted each time are so in place
    of the copy.
    """

    offsets: Mapping[str, int]
    size_bytes: int
    waits_in_flash: float
    copy_cycles: float  # without waits
    copy_waits: float
    is_reused: bool = False  # the copy that another tile of the same layer made before
    residence: Residence | None = None  # in RAM from the start of the program
    external: ExternalReads | None = None  # where the constants lie in the external memory, in place of the flash
    decrypted: Decrypted = Decrypted.NEVER

    @property
    def saved_cycles(self) -> float:
        """By how many cycles the layer is faster with a copy."""
        return self.waits_in_flash - self.copy_cycles - self.copy_waits

    @property
    def is_external(self) -> bool:
        """Whether the constants lie in the external memory."""
        return self.external is not None

    @property
    def external_cycles(self) -> float:
        """Cycles in which the external memory is read."""
        if self.external is None or self.is_reused:
            return 0.0
        return self.external.for_copy if self.is_copied else self.external.by_kernel

    @property
    def is_copied(self) -> bool:
        """Whether the kernel reads a copy in RAM."""
        return bool(self.offsets)

    @property
    def end_bytes(self) -> int:
        """Offset behind the copy, 0 if there is none."""
        return min(self.offsets.values()) + self.size_bytes if self.is_copied else 0

    @property
    def cost_cycles(self) -> float:
        """Cycles beside those of the kernel."""
        if self.residence:
            return self.residence.wait_cycles
        if self.is_reused:
            return 0.0
        return self.copy_cycles + self.copy_waits if self.is_copied else self.waits_in_flash

    @override
    def __str__(self) -> str:
        """Return the reason, as text."""
        copying = self.copy_cycles + self.copy_waits
        memory = "external memory" if self.is_external else "flash"
        waits = f"{self.waits_in_flash:.0f} cycles of waits"
        if self.decrypted is not Decrypted.NEVER:
            return self._decryption
        if self.residence:
            own = f", with {self.residence.wait_cycles:.0f} cycles of waits" if self.residence.wait_cycles else ""
            return f"constants in RAM from the start{own}: {memory} would cost {waits}"
        if self.is_reused:
            return f"constants in RAM, where another part of the layer copied them: {memory} would cost {waits}"
        if self.is_copied:
            return f"constants copied to RAM in {copying:.0f} cycles: {memory} would cost {waits}"
        if self.saved_cycles > 0:
            return f"constants in {memory} cost {waits}: {self.size_bytes} bytes for a copy are not free in RAM"
        return f"constants in {memory} cost {waits}: a copy to RAM would take {copying:.0f} cycles"

    @property
    def _decryption(self) -> str:
        if self.decrypted is Decrypted.ONCE:
            return f"constants decrypted to RAM once, where they cost {self.waits_in_flash:.0f} cycles of waits"
        if self.is_reused:
            return "constants in RAM, where another part of the layer decrypted them"
        return f"constants decrypted to RAM in {self.cost_cycles:.0f} cycles, in each inference"


def place_constants(
    board: Board,
    constants: Mapping[int, LayerConstants],
    in_use: Mapping[int, Sequence[ByteRange]],
    space: ByteRange,
) -> Mapping[int, PlacedConstants]:
    """Return where the constants of each layer lie: copied where that makes the layer faster and where it fits.

    Copies lie in `space`, of which `in_use` has what is in use while each layer runs; layers of one step have the same
    ranges, and their copies do not overlap. What saves most comes first.
    """
    placed = {number: _not_copied(board, own) for number, own in constants.items()}
    taken = {number: list(ranges) for number, ranges in in_use.items()}
    for number, own in sorted(placed.items(), key=lambda item: (-item[1].saved_cycles, item[0])):
        begin = _hole(taken[number], own.size_bytes, space)
        if own.saved_cycles <= 0 or begin is None:
            continue
        placed[number] = replace(own, offsets=dict(offsets_from(constants[number].sizes, begin)))
        for other, ranges in taken.items():
            if in_use[other] is in_use[number]:
                ranges.append(ByteRange(begin, begin + own.size_bytes))
    return placed


def place_shared_constants(
    board: Board,
    constants: Mapping[int, LayerConstants],
    in_use: Mapping[int, Sequence[ByteRange]],
    space: ByteRange,
    sharing: Sequence[Sequence[int]],
) -> Mapping[int, PlacedConstants]:
    """Return the same as `place_constants` where each list of layers in `sharing` reads the same constants.

    The first layer of a list makes the copy, which stays until the last one has run.
    """
    first = {own[0]: own for own in sharing}
    if len(first) == len(constants):
        return place_constants(board, constants, in_use, space)
    together = {
        number: replace(
            constants[number],
            read_bytes=sum(constants[each].read_bytes for each in own),
            kernel_cycles=sum(constants[each].kernel_cycles for each in own),
        )
        for number, own in first.items()
    }
    found = place_constants(board, together, in_use_together(in_use, sharing), space)
    placed = {}
    for number, own in first.items():
        copied = found[number].is_copied
        for each in own:
            alone = _not_copied(board, constants[each])
            placed[each] = replace(alone, offsets=found[number].offsets, is_reused=copied and each != number)
    return placed


def in_use_together(
    in_use: Mapping[int, Sequence[ByteRange]], sharing: Sequence[Sequence[int]]
) -> Mapping[int, Sequence[ByteRange]]:
    """Return what is in use while any layer of each list runs, by the first one of the list."""
    return {
        own[0]: in_use[own[0]] if len(own) == 1 else tuple(chain.from_iterable(in_use[each] for each in own))
        for own in sharing
    }


def _not_copied(board: Board, constants: LayerConstants) -> PlacedConstants:
    waits = _waits_of(board, constants)
    external = None
    if isinstance(waits, ExternalWaits):
        external = ExternalReads(*(waits.active(constants, is_copied=each) for each in (False, True)))
    return PlacedConstants(
        offsets={},
        size_bytes=constants.size_bytes,
        waits_in_flash=waits.reading(constants),
        copy_cycles=copy_cycles(constants),
        copy_waits=waits.copying(constants),
        external=external,
    )


def _hole(in_use: Sequence[ByteRange], size_bytes: int, space: ByteRange) -> int | None:
    """Return the first offset in `space` at which nothing is in use, None if there is none."""
    begin = lowest_hole(in_use, size_bytes, space.begin)
    return begin if begin + size_bytes <= space.end else None


def lowest_hole(in_use: Sequence[ByteRange], size_bytes: int, begin: int) -> int:
    """Return the first offset from `begin` on at which nothing is in use, however far behind."""
    for each in sorted(in_use):
        if each.begin - begin >= size_bytes:
            break
        begin = max(begin, aligned(each.end))
    return begin


def offsets_from(sizes: Mapping[str, int], begin: int) -> Iterator[tuple[str, int]]:
    """Yield the offsets of arrays, by name, that lie one behind the other from `begin` on."""
    for name, size in sizes.items():
        yield name, begin
        begin += aligned(size)
