"""A Unicorn engine as the core of one board: memories, peripheral pages and C hooks."""

import ctypes
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from ctypes import c_void_p
from functools import partial
from itertools import pairwise

import unicorn
from unicorn import arm_const
from unicorn.unicorn_py3.unicorn import uclib

from tinysplit.boards.board import Board, Device
from tinysplit.boards.parts import Memory
from virtual_stm32.core.divisions import Operands
from virtual_stm32.core.memory_timing import IdealMemory, Stalls
from virtual_stm32.core.mpu import Access, Protected
from virtual_stm32.core.native import (
    UNICORN_FUNCTIONS,
    CBoardState,
    CExternalFlash,
    CMark,
    CRegion,
    DescribeCallback,
    Division,
    FailedCallback,
    ProtectedBytes,
    ReadCallback,
    TornWords,
    WriteCallback,
    library,
)

_PAGE = 0x1000
_PROTECTED_PAGE = 1024  # of Unicorn's M profile
_MARKS = 4096  # recorded at most
_READ, _WRITE = unicorn.UC_HOOK_MEM_READ, unicorn.UC_HOOK_MEM_WRITE
_HOOKS = (
    (unicorn.UC_HOOK_BLOCK, "on_block"),
    (unicorn.UC_HOOK_MEM_INVALID, "on_protected"),
    (unicorn.UC_HOOK_INTR, "on_trap"),
)


class Emulator:
    """One Unicorn engine with its C state; `ram` has the contents of the memories at the start.

    A memory is executable if one of the addresses `code` is in it. `external` has the contents of the external memory,
    if the board has one.
    """

    def __init__(
        self,
        board: Board,
        model: int,
        flash: bytes,
        ram: Mapping[str, bytes],
        code: Collection[int] = (),
        external: bytes = b"",
    ) -> None:
        self._uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        self._uc.ctl_set_cpu_model(model)
        self._handle = self._uc._uch  # noqa: SLF001 (there is no public access to it)
        self._flash = ctypes.create_string_buffer(flash, len(flash))
        self._kept: list[object] = []  # referenced from C
        self.ram: dict[str, memoryview] = {}  # contents, by the names of the memories
        # Flash and RAM: begin, end and permissions, and those of their pages with the MPU.
        self._mapped: dict[tuple[int, int, int], tuple[tuple[int, int, int], ...]] = {}
        self._map_memories(board, ram, code)
        self.state = CBoardState(uc=self._handle)
        self._run = partial(library().run, self.state)
        for name in UNICORN_FUNCTIONS:
            setattr(self.state, name, ctypes.cast(getattr(uclib, name), c_void_p).value)
        user = ctypes.cast(ctypes.pointer(self.state), c_void_p)
        for kind, name in _HOOKS:
            self._add_hook(kind, ctypes.cast(getattr(library(), name), c_void_p), user)
        self.external = CExternalFlash()
        if board.external:
            self._map_external(board.external.memory, external)

    def _map_external(self, memory: Memory, content: bytes) -> None:
        """Map the external memory; accesses fail until the controller has mapped it."""
        buffer = ctypes.create_string_buffer(content, memory.size_bytes)
        self._kept.append(buffer)
        self._uc.mem_map_ptr(memory.start, memory.size_bytes, unicorn.UC_PROT_READ, ctypes.addressof(buffer))
        self.external.start, self.external.size = memory.start, memory.size_bytes
        self.state.external = ctypes.addressof(self.external)
        function = ctypes.cast(library().on_external, c_void_p)
        user = ctypes.cast(ctypes.pointer(self.state), c_void_p)
        self._add_hook(_READ, function, user, memory.start, memory.end - 1)

    def _map_memories(self, board: Board, ram: Mapping[str, bytes], code: Collection[int]) -> None:
        read_only = unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC
        size = len(self._flash)
        for start in board.device.flash_addresses:
            self._map(start, size, read_only, ctypes.addressof(self._flash))
        if board.code_ram and board.code_ram.is_apart:
            apart = ctypes.create_string_buffer(_whole_pages(board.code_ram.size_bytes))
            self._kept.append(apart)
            self._map_ram(board.code_ram.code_start, len(apart), ctypes.addressof(apart), code)
        for memory in board.device.ram:
            buffer = ctypes.create_string_buffer(_whole_pages(memory.size_bytes))
            self._kept.append(buffer)
            self.ram[memory.name] = memoryview(buffer).cast("B")[: memory.size_bytes]
            self.ram[memory.name][:] = ram[memory.name]
            self._map_ram(memory.start, len(buffer), ctypes.addressof(buffer), code)
            if board.code_ram and memory.start <= board.code_ram.data_start < memory.end:
                alias = ctypes.addressof(buffer) + board.code_ram.data_start - memory.start
                self._map_ram(board.code_ram.code_start, _whole_pages(board.code_ram.size_bytes), alias, code)

    def _map_ram(self, start: int, size: int, content: int, code: Collection[int]) -> None:
        """Map `size` bytes at the address `content` of this process."""
        is_executable = any(start <= address < start + size for address in code)
        protection = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE | (unicorn.UC_PROT_EXEC if is_executable else 0)
        self._map(start, size, protection, content)

    def _map(self, start: int, size: int, protection: int, content: int) -> None:
        self._uc.mem_map_ptr(start, size, protection, content)
        self._mapped[start, start + size, protection] = ((start, start + size, protection),)

    def memories(self) -> list[tuple[int, int]]:
        """Return begin and end of flash and RAM, at each of their addresses."""
        return [(start, end) for start, end, _ in self._mapped]

    def protect(self, protected: Sequence[Protected]) -> None:
        """Refuse reads and writes that the MPU does not allow. All accesses to pages with such bytes are looked at.

        With ideal memory Unicorn reports reads of such a page only until one of them is allowed.
        """
        self._protected = (ProtectedBytes * len(protected))()
        for number, each in enumerate(protected):
            denied = (Access.READ | Access.WRITE) & ~each.allowed
            self._protected[number] = ProtectedBytes(each.start, each.end - each.start, denied.value)
        self.state.protected = self._protected
        self.state.protected_count = len(protected)
        for mapped, before in self._mapped.items():
            runs = tuple(_permissions(*mapped, protected))
            if runs != before:
                self._mapped[mapped] = runs
                for start, end, permission in runs:
                    self._uc.mem_protect(start, end - start, permission)

    def _add_hook(self, kind: int, function: c_void_p, user: c_void_p, first: int = 1, last: int = 0) -> None:
        """Call `function` with `user` at the addresses from `first` to `last`, by default (an empty range) at all."""
        handle = ctypes.c_size_t()
        first_address, last_address = ctypes.c_uint64(first), ctypes.c_uint64(last)
        _check(uclib.uc_hook_add(self._handle, ctypes.byref(handle), kind, function, user, first_address, last_address))

    def use_memory(self, memory: IdealMemory) -> None:
        """Let accesses take the time of `memory`."""
        if memory.model is None:
            return
        self._kept.append(memory)
        self.state.memory = ctypes.addressof(memory.model)
        function = ctypes.cast(library().on_data, c_void_p)
        user = ctypes.cast(ctypes.pointer(self.state), c_void_p)
        for each in memory.hooked():
            kind = _READ | _WRITE if each.is_writable else _READ
            self._add_hook(kind, function, user, each.start, each.start + each.size_bytes - 1)

    def watch_torn(self, device: Device, torn: bytearray, failed: Callable[[int], bool]) -> None:
        """Call `failed` with the address of each read of a byte of flash that is 1 in `torn`.

        It returns whether the core goes on, or has a bus error. Without such bytes nothing is watched.
        """
        first, last = torn.find(1), torn.rfind(1)
        if first < 0:
            return
        self.state.failed = FailedCallback(failed)
        function = ctypes.cast(library().on_torn, c_void_p)
        for start in device.flash_addresses:
            watched = TornWords(ctypes.pointer(self.state), start, (ctypes.c_uint8 * len(torn)).from_buffer(torn))
            self._kept.append(watched)
            user = ctypes.cast(ctypes.pointer(watched), c_void_p)
            self._add_hook(_READ, function, user, start + first, start + last)

    def time_divisions(self, divisions: Mapping[int, Operands]) -> None:
        """Add the cycles that the operands of a division require to its shortest duration, for those at addresses."""
        function = ctypes.cast(library().on_division, c_void_p)
        for address, (dividend, divisor, is_signed) in divisions.items():
            division = Division(ctypes.pointer(self.state), dividend, divisor, is_signed)
            self._kept.append(division)
            user = ctypes.cast(ctypes.pointer(division), c_void_p)
            self._add_hook(unicorn.UC_HOOK_CODE, function, user, address, address)

    def time_ram_divisions(self) -> None:
        """Do the same for all divisions in RAM, whatever code comes there."""
        function = ctypes.cast(library().on_ram_code, c_void_p)
        user = ctypes.cast(ctypes.pointer(self.state), c_void_p)
        for start, end, protection in self._mapped:
            if protection & unicorn.UC_PROT_WRITE:
                self._add_hook(unicorn.UC_HOOK_CODE, function, user, start, end - 1)

    def connect(
        self,
        pages: Iterable[int],
        describe: Callable[[int, int], int],
        read: Callable[[int, int, int], int],
        write: Callable[[int, int, int, int], None],
    ) -> None:
        """Set the Python callbacks for unknown blocks and for accesses to peripherals."""
        self.state.describe = DescribeCallback(describe)
        self.state.read = ReadCallback(read)
        self.state.write = WriteCallback(write)
        for page in pages:
            region = CRegion(ctypes.pointer(self.state), page)
            self._kept.append(region)
            user = ctypes.cast(ctypes.pointer(region), c_void_p)
            on_read = ctypes.cast(library().on_read, c_void_p)
            on_write = ctypes.cast(library().on_write, c_void_p)
            _check(uclib.uc_mmio_map(self._handle, page, _PAGE, on_read, user, on_write, user))
            self._uc.mem_protect(page, _PAGE, unicorn.UC_PROT_NONE)

    def record_marks(self) -> None:
        """Record when marked blocks begin, from now on."""
        self._marks = (CMark * _MARKS)()
        self.state.marks = self._marks
        self.state.mark_limit = _MARKS

    def marks(self) -> Iterator[tuple[int, int, Stalls]]:
        """Yield what was recorded: address, cycles and stalls since the start."""
        for each in self._marks[: self.state.mark_count]:
            yield each.address, each.cycles, Stalls(*each.stalls)

    def run(self) -> None:
        """Run until an event; state.reason is the reason for the end."""
        self._run()

    def enter_exception(self, handler: int, link: int, *, has_fpu: bool) -> bool:
        """Push the exception frame and jump to a handler; return False when the stack cannot be written."""
        return bool(library().enter_exception(self.state, handler, link, has_fpu))

    def leave_exception(self, link: int) -> bool:
        """Pop the exception frame; return False when the stack cannot be read."""
        return bool(library().leave_exception(self.state, link))

    def read(self, address: int, size: int) -> bytes:
        """Return the contents of memory."""
        return bytes(self._uc.mem_read(address, size))

    def read_word(self, address: int) -> int:
        """Return a word of memory."""
        return int.from_bytes(self.read(address, 4), "little")

    def write(self, address: int, data: bytes) -> None:
        """Change the contents of memory."""
        self._uc.mem_write(address, data)

    def write_word(self, address: int, value: int) -> None:
        """Change a word of RAM."""
        self.write(address, value.to_bytes(4, "little"))

    @property
    def flash(self) -> memoryview:
        """Contents of the flash."""
        return memoryview(self._flash).cast("B")

    def forget_code(self, start: int, size: int) -> None:
        """Translate the code there anew before it runs again."""
        self._uc.ctl_remove_cache(start, start + size)

    def set_breakpoints(self, addresses: Collection[int]) -> None:
        """Let runs end before the instructions at `addresses`."""
        self._uc.ctl_exits_enabled(True)
        self._uc.ctl_set_exits([0, *addresses])
        self._uc.ctl_flush_tb()

    def read_register(self, number: int) -> int:
        """Return a register by Unicorn's number."""
        return int(self._uc.reg_read(number))

    def write_register(self, number: int, value: int) -> None:
        """Change a register by Unicorn's number."""
        self._uc.reg_write(number, value)

    def stop(self) -> None:
        """End a run from inside a callback."""
        self._uc.emu_stop()

    @property
    def pc(self) -> int:
        """Program counter."""
        return int(self._uc.reg_read(arm_const.UC_ARM_REG_PC))

    @property
    def is_masked(self) -> bool:
        """PRIMASK or FAULTMASK."""
        return bool(library().is_masked(self.state))

    @property
    def has_fault_priority(self) -> bool:
        """FAULTMASK."""
        return bool(self._uc.reg_read(arm_const.UC_ARM_REG_FAULTMASK))

    def start_at(self, pc: int, stack: int) -> None:
        """Set the registers as after reset."""
        self._uc.reg_write(arm_const.UC_ARM_REG_SP, stack)
        self._uc.reg_write(arm_const.UC_ARM_REG_LR, 0xFFFFFFFF)
        self._uc.reg_write(arm_const.UC_ARM_REG_PC, pc | 1)

    def jump(self, pc: int, link: int) -> None:
        """Jump to a handler without pushing a frame (tail-chaining)."""
        self._uc.reg_write(arm_const.UC_ARM_REG_LR, link)
        self._uc.reg_write(arm_const.UC_ARM_REG_PC, pc | 1)


def _permissions(
    start: int, end: int, permission: int, protected: Sequence[Protected]
) -> Iterator[tuple[int, int, int]]:
    """Yield the pages of a memory that allow no more than each byte of them does, in runs: begin, end, permission."""
    inside = [each for each in protected if each.start < end and start < each.end]
    pages = [(each.start & -_PROTECTED_PAGE, -(-each.end // _PROTECTED_PAGE) * _PROTECTED_PAGE) for each in inside]
    edges = {start, end, *(min(max(edge, start), end) for both in pages for edge in both)}
    for first, last in pairwise(sorted(edges)):
        allowed = permission
        for each, (page, behind) in zip(inside, pages, strict=True):
            if page < last and first < behind:
                allowed &= ~(0 if Access.READ in each.allowed else unicorn.UC_PROT_READ)
                allowed &= ~(0 if Access.WRITE in each.allowed else unicorn.UC_PROT_WRITE)
        yield first, last, allowed


def _whole_pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _check(error: int) -> None:
    if error:
        raise unicorn.UcError(error)
