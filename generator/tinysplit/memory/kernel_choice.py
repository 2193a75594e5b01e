"""The choice of kernels for the layers of a network on a board: by the cost table and the waits for flash."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import accumulate, starmap
from math import inf

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.common.choices import Optimize
from tinysplit.kernels import Kernel, candidates, choose, flash_bytes, predicted_cycles
from tinysplit.kernels.code_waits import CodeWaits, code_waits
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.kernels.selection import code_bytes
from tinysplit.memory.code_in_ram import CodeBytes, RamCode, choose_ram_code, remaining_waits
from tinysplit.memory.constants_in_ram import (
    ByteRange,
    LayerConstants,
    PlacedConstants,
    Residence,
    place_shared_constants,
)
from tinysplit.memory.external_weights import Movable, choose_external
from tinysplit.memory.fusion_search import least_pair_bytes
from tinysplit.memory.kernel_exchange import Loss, Saving, least_losses
from tinysplit.memory.layout import Schedule, layer_ram_bytes
from tinysplit.memory.resident_constants import ResidentRoom, far_ram, resident_rooms, with_residents
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT, Graph

LINKS_BYTES = 4096  # RAM that drivers and buffers of links may take
LEAST_SAVING = 0.05  # of a layer's cycles, for which a kernel may take much flash
_MOST_CHOICES = 32  # that are kept


@dataclass(frozen=True)
class KernelChoice:
    """The kernels of a network on a board: the same in every split, so that a plan needs what its split counts.

    They are those that are best by the cost `table`.

    `code_memory` is that of the layers' code, None if the plan chooses; it changes cycles, and not the choice. Of a
    distributed network, only the layers of board `index` count. With `has_residents` constants may be in RAM from the
    start of the program. The board `is_alone` if no other one has some of the layers.
    """

    table: CycleTable = field(repr=False, hash=False)
    graph: Graph
    widths: BitWidths = field(hash=False)
    board: Board
    code_memory: CodeMemory | None = None
    index: int = 0
    has_residents: bool = True
    is_alone: bool = False
    _live_bytes: dict[tuple[int, str], int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _placed: dict[Hashable, PlacedConstants | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def known(self) -> "KernelChoice":
        """The first of equal choices, with what it has found: all problems and plans of a whole network share it."""
        return self if self.graph.is_distributed else _first(replace(self, index=0))

    @cached_property
    def numbers(self) -> Sequence[int]:
        """The layers that may run on the board."""
        numbers = range(len(self.graph.layers))
        if not self.graph.is_distributed:
            return numbers
        return tuple(number for number in numbers if self.graph.boards[number] == self.index)

    def kernel(self, number: int, optimize: Optimize = Optimize.CYCLES, name: str | None = None) -> Kernel:
        """Return the kernel of layer `number` (from 0), see `choose`; for cycles, as the flash has room for.

        Tiles of one layer have the kernel of the largest one, if it fits all of them: then they share its constants.
        """
        return self._of_tiles(number, lambda each: self._own(each, optimize, name))

    def of_goal(self, number: int, goal: Optimize, name: str | None = None, *, is_small: bool = False) -> Kernel:
        """Return the kernel that layer `number` has for the `goal` of a plan, or the smaller one it may have.

        To minimise RAM, too, kernels are the fastest ones but for those of layers that would make the arena larger.
        """
        if is_small or goal is Optimize.FLASH:
            return self.kernel(number, Optimize.RAM if goal is Optimize.RAM else Optimize.FLASH, name)
        return self.kernel(number, name=name)

    def _of_tiles(self, number: int, choose_own: Callable[[int], Kernel]) -> Kernel:
        """Return what is chosen for the largest tile of the layer, if it fits layer `number`, else for that."""
        largest = max(self.graph.siblings(number), key=lambda each: self.graph.layers[each].macc)
        kernel = choose_own(largest)
        return kernel if largest == number or kernel in self._all(number) else choose_own(number)

    def _own(self, number: int, optimize: Optimize, name: str | None) -> Kernel:
        """Return the kernel of a layer alone."""
        if optimize is Optimize.CYCLES and name is None:
            large = self._large_kernels.get(number)
            if large:
                return large.kernel
            return self._small_kernels.get(number) or self._usual_kernels[number]
        return self._usual(number, optimize, name)

    @cached_property
    def _usual_kernels(self) -> Mapping[int, Kernel]:
        """The fastest kernel of each layer alone, among those that do not take much flash."""
        return {number: self._usual(number) for number in self.numbers}

    def _usual(self, number: int, optimize: Optimize = Optimize.CYCLES, name: str | None = None) -> Kernel:
        layer = self.graph.layers[number]
        widths = self.widths.of_layer(layer)
        return choose(self.table, layer, self.board.device.core, widths, optimize, name, partial(self.waits, number))

    @cached_property
    def _large_kernels(self) -> Mapping[int, Saving]:
        """Kernels that take much flash, where that of the board holds the whole network with them.

        Those that save most cycles a byte come first, and give way to others that save more where flash is left. The
        board's RAM has room for them and for links.
        """
        if not any(kernel.takes_much_flash for number in self.numbers for kernel in self._all(number)):
            return {}
        free_bytes = self._free_flash_bytes(self._usual_kernels)
        found: dict[int, Saving] = {}
        for saving in sorted(self._usual_savings, key=lambda each: -each.cycles / each.flash_bytes):
            before = found.get(saving.number)
            more_bytes = saving.flash_bytes - (before.flash_bytes if before else 0)
            if saving.exceeds(before) and more_bytes <= free_bytes:
                found[saving.number] = saving
                free_bytes -= more_bytes
        return found

    @cached_property
    def _usual_savings(self) -> Sequence[Saving]:
        """What kernels that take much flash save against the usual ones."""
        return tuple(self._savings(self._usual_kernels))

    @cached_property
    def lacks_flash(self) -> bool:
        """Whether more flash may give all layers on the board other kernels or places of constants."""
        if self.external:
            return True
        missing_bytes = max((saving.flash_bytes for saving in self._usual_savings), default=0)
        return self._free_flash_bytes({number: self.kernel(number) for number in self.numbers}) < missing_bytes

    @cached_property
    def alone(self) -> "KernelChoice":
        """The choice where no other board has a layer: itself where that has the same kernels."""
        if self.is_alone or self.graph.is_distributed:
            return self
        takes_ram = any(kernel.takes_much_ram for number in self.numbers for kernel in self._all(number))
        if not takes_ram and not self.lacks_flash:
            return self
        other = replace(self, is_alone=True).known
        return self if all(other.kernel(number) is self.kernel(number) for number in self.numbers) else other

    @cached_property
    def _fast_kernels(self) -> Mapping[int, Kernel]:
        """The fastest kernel of each layer for all its tiles, among those that do not take much flash."""
        return {number: self._of_tiles(number, self._usual_kernels.__getitem__) for number in self.numbers}

    def missing_flash_bytes(self, kernels: Mapping[int, Kernel]) -> int:
        """Return what the flash lacks to hold all layers with these kernels; 0 with an external memory for some."""
        return 0 if self.board.external else max(0, -self._free_flash_bytes(kernels))

    @cached_property
    def _small_kernels(self) -> Mapping[int, Kernel]:
        """Kernels of little flash, of parts where the board lacks it; whole layers have them by an assignment."""
        missing_bytes = self.missing_flash_bytes(self._fast_kernels) if self.graph.is_distributed else 0
        if not missing_bytes:
            return {}
        small = {number: self.of_goal(number, Optimize.CYCLES, is_small=True) for number in self.numbers}
        return {number: small[number] for number in least_losses(self._losses(small), missing_bytes)}

    def _losses(self, small: Mapping[int, Kernel]) -> Iterator[Loss]:
        """Yield what kernels of little flash lose and save against the fastest ones."""
        for tiles in dict.fromkeys(map(self.graph.siblings, small)):
            new, old = ({each: kernels[each] for each in tiles} for kernels in (small, self._fast_kernels))
            saved = sum(starmap(self._flash_bytes, old.items())) - sum(starmap(self._flash_bytes, new.items()))
            cycles = (sum(starmap(self._cycles_in_flash, each.items())) for each in (new, old))
            if saved > 0:
                yield Loss(tiles, next(cycles) - next(cycles), saved)

    def _free_flash_bytes(self, kernels: Mapping[int, Kernel]) -> int:
        """Return the bytes of flash that all layers leave free with their constants in it, negative if none."""
        firmware = self.table.firmware[self.board.device.family]
        free_bytes = self.board.usable_flash_bytes - firmware.flash_bytes
        free_bytes -= 0 if self.is_alone else firmware.link_flash_bytes
        return free_bytes - sum(starmap(self._flash_bytes, kernels.items()))

    @cached_property
    def external(self) -> frozenset[int]:
        """The layers whose constants lie in the external memory: where the flash does not hold the whole network."""
        external = self.board.external
        if external is None:
            return frozenset()
        kernels = {number: self.kernel(number) for number in self.numbers}
        movable = [self._movable(*each) for each in kernels.items() if self._sharing(*each)[0] == each[0]]
        chosen = choose_external(movable, self._free_flash_bytes(kernels), external.memory.size_bytes)
        return frozenset(number for each in chosen for number in self._sharing(each, kernels[each]))

    @cached_property
    def external_share(self) -> float:
        """The share of the time of all layers in which the external memory is read."""
        placed = (self.constants(number, self.kernel(number)) for number in self.external)
        cycles = sum(each.external_cycles for each in placed if each)
        return cycles / sum(self.cycles(number, self.kernel(number)) for number in self.numbers) if cycles else 0.0

    def _movable(self, number: int, kernel: Kernel) -> Movable:
        """Return what constants of a layer free in flash, and the cycles that they cost the layers which share them."""
        size_bytes = kernel.weights_bytes(self.graph.layers[number], self.widths.of_layer(self.graph.layers[number]))
        sharing = self._sharing(number, kernel)
        outside, inside = (
            sum(
                placed.cost_cycles
                for each in sharing
                if (placed := self._constants(each, kernel, is_external=is_external))
            )
            for is_external in (True, False)
        )
        return Movable(number, size_bytes, outside - inside)

    def _savings(self, usual: Mapping[int, Kernel]) -> Iterator[Saving]:
        """Yield what kernels that take much flash, and were measured, save by more than `LEAST_SAVING`."""
        for number, own in usual.items():
            large = [kernel for kernel in self._all(number) if self._is_measured_large(number, kernel)]
            if not large:
                continue
            cycles, flash = self._cycles_in_flash(number, own), self._flash_bytes(number, own)
            for kernel in large:
                if self.live_bytes(number, kernel) + LINKS_BYTES > self.limit_bytes:
                    continue
                saved = cycles - self._cycles_in_flash(number, kernel)
                if saved > LEAST_SAVING * cycles:
                    yield Saving(number, kernel, saved, max(1, self._flash_bytes(number, kernel) - flash))

    def _is_measured_large(self, number: int, kernel: Kernel) -> bool:
        if not kernel.takes_much_flash:
            return False
        layer, core = self.graph.layers[number], self.board.device.core
        return predicted_cycles(self.table, kernel, layer, core, self.widths.of_layer(layer)) is not None

    def lacks_flash_for(self, number: int, kernel: Kernel, small: Kernel | None = None) -> int:
        """Return the bytes of flash that a kernel takes more than the chosen one, if only flash excludes it; else 0.

        It is faster by more than `LEAST_SAVING`, the RAM has room for it, and the flash has none. `small` is the chosen
        one where it is of little flash for want of more.
        """
        small = small or self._small_kernels.get(number)
        if small and kernel is self._fast_kernels[number]:
            return self._flash_bytes(number, kernel) - self._flash_bytes(number, small)
        savings, large = self._savings({number: self._usual_kernels[number]}), self._large_kernels.get(number)
        lacking = (saving.flash_bytes for saving in savings if saving.kernel is kernel and saving.exceeds(large))
        return next(lacking, 0)

    def _all(self, number: int) -> tuple[Kernel, ...]:
        layer = self.graph.layers[number]
        return candidates(layer, self.board.device.core, self.widths.of_layer(layer))

    def _without_waits(self, number: int) -> Kernel:
        """Return the kernel that is the fastest with ideal memory, also where it does not fit."""
        layer = self.graph.layers[number]
        return choose(self.table, layer, self.board.device.core, self.widths.of_layer(layer))

    def flash_bytes(self, number: int, kernel: Kernel) -> int:
        """Return the bytes of a layer's constants and code in flash; constants of tiles count with the first one."""
        if number in self.external:
            layer = self.graph.layers[number]
            return code_bytes(self.table, kernel, layer, self.board.device.core, self.widths.of_layer(layer))
        return self._flash_bytes(number, kernel)

    def _flash_bytes(self, number: int, kernel: Kernel) -> int:
        """Return the same with constants in flash."""
        layer = self.graph.layers[number]
        if number != self._sharing(number, kernel)[0]:
            return code_bytes(self.table, kernel, layer, self.board.device.core, self.widths.of_layer(layer))
        return flash_bytes(self.table, kernel, layer, self.board.device.core, self.widths.of_layer(layer))

    def cycles(self, number: int, kernel: Kernel) -> float:
        """Return the cycles of a layer with `kernel`, waits included. Raises the errors of `kernel_cycles`."""
        waits = remaining_waits(self.code_waits(number, kernel), self._ram_code)
        return self._kernel_cycles(number, kernel) + self._constant_cycles(number, kernel) + waits

    def seconds(self, number: int, kernel: Kernel) -> float:
        """Return the time of a layer with `kernel`; see `cycles`."""
        return self.cycles(number, kernel) / self.board.clock.core_hz

    def _cycles_in_flash(self, number: int, kernel: Kernel) -> float:
        """Return the cycles of a layer with constants in flash, without waits for code."""
        return self._kernel_cycles(number, kernel) + self._constant_cycles_in_flash(number, kernel)

    def _kernel_cycles(self, number: int, kernel: Kernel) -> float:
        layer = self.graph.layers[number]
        return kernel_cycles(self.table, layer, self.board.device.core, self.widths.of_layer(layer), kernel)

    def waits(self, number: int, kernel: Kernel) -> float:
        """Return the cycles that the constants of a kernel are expected to cost in flash, beside those of the table.

        They are infinite if tensors and scratch memory do not fit while the layer runs, alone or fused with another. So
        they are for kernels with much RAM unless the board is alone: that of links and divided layers is not known yet.
        """
        if kernel.takes_much_ram and not self.is_alone:
            return inf
        if self.live_bytes(number, kernel) > self.limit_bytes and not self._fits_fused(number, kernel):
            return inf
        return self._constant_cycles_in_flash(number, kernel)

    def _fits_fused(self, number: int, kernel: Kernel) -> bool:
        """Return whether the layer fits fused with the one before or after it, which has its fastest kernel."""
        if self.graph.is_distributed:
            return False
        core = self.board.device.core
        for first in (number - 1, number):
            if not 0 <= first < len(self.graph.layers) - 1:
                continue
            kernels = {each: kernel if each == number else self._without_waits(each) for each in (first, first + 1)}
            own_bytes = least_pair_bytes(self.table, self.graph, self.widths, kernels, core, Optimize.CYCLES)
            if own_bytes is not None and own_bytes + self._waiting_bytes(first) <= self.limit_bytes:
                return True
        return False

    def code_waits(self, number: int, kernel: Kernel) -> CodeWaits:
        """Return the waits for the code of a kernel in flash."""
        layer = self.graph.layers[number]
        return code_waits(self.table, layer, self.board, self.widths.of_layer(layer), kernel)

    def code_bytes(self, kernels: Mapping[int, Kernel]) -> CodeBytes:
        """Return the bytes of code of layers with these kernels."""
        core, layers = self.board.device.core, self.graph.layers

        def size(number: int, kernel: Kernel) -> int:
            return code_bytes(self.table, kernel, layers[number], core, self.widths.of_layer(layers[number]))

        return CodeBytes.of((size(*each), self.code_waits(*each)) for each in kernels.items())

    @cached_property
    def _ram_code(self) -> RamCode:
        """The code that is expected in RAM: what fits there beside the largest tensors of the whole network."""
        if not self.board.code_ram:
            return RamCode.NONE
        kernels = {number: self._without_waits(number) for number in self.numbers}
        arena_bytes = max(self.live_bytes(number, kernel) for number, kernel in kernels.items())
        firmware = self.table.firmware[self.board.device.family]
        return choose_ram_code(self.board, self.code_bytes(kernels), firmware.ram_bytes + arena_bytes, self.code_memory)

    def _constant_cycles(self, number: int, kernel: Kernel) -> float:
        placed = self.constants(number, kernel)
        return placed.cost_cycles if placed else 0.0

    def _constant_cycles_in_flash(self, number: int, kernel: Kernel) -> float:
        placed = self._constants(number, kernel, is_external=False)
        return placed.cost_cycles if placed else 0.0

    def constants(self, number: int, kernel: Kernel) -> PlacedConstants | None:
        """Return where the constants of a kernel are expected to lie, None if it has none.

        Next to the core, if they fit beside the tensors that are live while the layer runs on a board with the whole
        network.
        """
        placed = self._constants(number, kernel, is_external=number in self.external)
        return replace(placed, residence=self._residences.get(number)) if placed else None

    @cached_property
    def _residences(self) -> Mapping[int, Residence]:
        """Where constants lie that are expected in RAM from the start, on a board with the whole network."""
        if not self.has_residents:
            return {}
        kernels = {number: self.kernel(number) for number in self.numbers}
        found = {each: self._constants(each, own, is_external=each in self.external) for each, own in kernels.items()}
        placed = {number: own for number, own in found.items() if own}
        constants = {
            number: self._read_constants(number, kernels[number], own.size_bytes) for number, own in placed.items()
        }
        sharing = dict.fromkeys(self._sharing(number, kernels[number]) for number in placed)
        cycles = sum(starmap(self._kernel_cycles, kernels.items())) + sum(own.cost_cycles for own in placed.values())
        arena_bytes = max(starmap(self.live_bytes, kernels.items()), default=0)
        resident = with_residents(placed, constants, list(sharing), self._resident_rooms(arena_bytes), cycles)
        return {number: own.residence for number, own in resident.items() if own.residence}

    def _resident_rooms(self, arena_bytes: int) -> Sequence[ResidentRoom]:
        """Return the RAM that an arena of the whole network, the firmware, links and code leave."""
        board, near = self.board, self.board.near_memory
        used_bytes = self.table.firmware[board.device.family].ram_bytes + LINKS_BYTES
        arena, end = board.arena_memory(arena_bytes, used_bytes), near.end
        has_code = self._ram_code is not RamCode.NONE
        if has_code and board.code_ram:
            kernels = {number: self._without_waits(number) for number in self.numbers}
            end = min(end, board.code_ram.data_end(self.code_bytes(kernels).largest(self._ram_code)))
        near_bytes = end - near.start - used_bytes - arena_bytes - board.read_ahead_bytes if arena == near else 0
        return resident_rooms(board, near_bytes, far_ram(board, arena, arena_bytes, LINKS_BYTES, has_code=has_code))

    def _constants(self, number: int, kernel: Kernel, *, is_external: bool) -> PlacedConstants | None:
        key = (number, kernel.name, is_external)
        if key not in self._placed:
            self._placed[key] = self._place(number, kernel, is_external=is_external)
        return self._placed[key]

    def _place(self, number: int, kernel: Kernel, *, is_external: bool) -> PlacedConstants | None:
        layer = self.graph.layers[number]
        size_bytes = kernel.weights_bytes(layer, self.widths.of_layer(layer))
        if not size_bytes:
            return None
        sharing = self._sharing(number, kernel)
        constants = [self._read_constants(each, kernel, size_bytes) for each in sharing]
        if is_external:
            constants = [self._in_external(own, each, kernel) for own, each in zip(constants, sharing, strict=True)]
        live_bytes = [self.live_bytes(each, kernel) for each in sharing]
        key = (sharing.index(number), *zip(constants, live_bytes, strict=True))
        if key not in self._placed:  # those of equal layers are equal
            in_use = {each: (ByteRange(0, used),) for each, used in zip(sharing, live_bytes, strict=True)}
            own = dict(zip(sharing, constants, strict=True))
            space = ByteRange(0, self._near_bytes)
            self._placed[key] = place_shared_constants(self.board, own, in_use, space, [sharing])[number]
        return self._placed[key]

    def _in_external(self, constants: LayerConstants, number: int, kernel: Kernel) -> LayerConstants:
        """Return constants that lie in the external memory, with their expected size."""
        layer = self.graph.layers[number]
        expected = kernel.expected_weights_bytes(layer, self.widths.of_layer(layer))
        return constants.in_external(
            {"all": expected}, self._kernel_cycles(number, kernel), reads_forward=kernel.reads_forward
        )

    def _read_constants(self, number: int, kernel: Kernel, size_bytes: int) -> LayerConstants:
        layer = self.graph.layers[number]
        widths = self.widths.of_layer(layer)
        read_bytes = kernel.loads(layer, widths).flash_bytes
        return LayerConstants({"all": size_bytes}, read_bytes, kernel.load_bytes(layer, widths))

    def _sharing(self, number: int, kernel: Kernel) -> tuple[int, ...]:
        """Return the tiles, in their order, that share the constants of layer `number` with this kernel."""
        siblings = self.graph.siblings(number)
        if len(siblings) == 1:
            return siblings
        layers = self.graph.layers

        def packed(each: int) -> Hashable:
            size_bytes = kernel.weights_bytes(layers[each], self.widths.of_layer(layers[each]))
            return size_bytes, kernel.packing(layers[each])

        return tuple(
            each
            for each in siblings
            if each == number or (kernel in self._all(each) and packed(each) == packed(number))
        )

    def live_bytes(self, number: int, kernel: Kernel) -> int:
        """Return the bytes of the layer's tensors and scratch memory, and of tensors for later layers."""
        known = self._live_bytes.get((number, kernel.name))
        if known is None:
            known = self._live_bytes[number, kernel.name] = self._count_live_bytes(number, kernel)
        return known

    def _count_live_bytes(self, number: int, kernel: Kernel) -> int:
        if self.graph.is_distributed:
            tiles = {
                each: kernel for each in self.graph.siblings(number) if each == number or kernel in self._all(each)
            }
            return self._alone.running_bytes(number, tiles)
        return self._waiting_bytes(number) + layer_ram_bytes(self.graph, number, self.widths, kernel)

    @cached_property
    def _alone(self) -> Schedule:
        """The layers on the board of a distributed network, without transfers."""
        steps = [PlanStep(StepKind.RUN, number, number) for number in self.numbers]
        return Schedule(self.graph, self.widths, steps, {})

    def _waiting_bytes(self, number: int) -> int:
        """Return the bytes of tensors that later layers read, and neither this one nor its output."""
        graph = self.graph
        own = (tensor for tensor in {*graph.predecessors[number]} if graph.last_reader(tensor) > number)
        return self._earlier_bytes[number] - sum(self.widths.size_bytes(graph, tensor) for tensor in own)

    @cached_property
    def _earlier_bytes(self) -> Sequence[int]:
        """The bytes of tensors that are there before a layer runs, and that later ones read, by layer."""
        changes = [0] * (len(self.graph.layers) + 1)
        for tensor in range(NETWORK_INPUT, len(self.graph.layers)):
            last = self.graph.last_reader(tensor)
            if last > tensor:
                changes[tensor + 1] += self.widths.size_bytes(self.graph, tensor)
                changes[last] -= self.widths.size_bytes(self.graph, tensor)
        return tuple(accumulate(changes))

    @cached_property
    def _near_bytes(self) -> int:
        firmware = self.table.firmware[self.board.device.family]
        return self.board.near_memory.size_bytes - firmware.ram_bytes - self.board.read_ahead_bytes

    @cached_property
    def limit_bytes(self) -> int:
        """The bytes of RAM that an arena may have."""
        firmware = self.table.firmware[self.board.device.family]
        return self.board.largest_arena_bytes(firmware.ram_bytes)


@lru_cache(_MOST_CHOICES)
def _first(choice: KernelChoice) -> KernelChoice:
    return choice
