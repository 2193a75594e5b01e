"""Where the code of a board's layers lies: in flash, or in idle RAM on the code buses, by the waits that this saves."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tinysplit.boards.board import Board, CodeMemory, CodeRam
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.kernels.code_waits import CodeWaits
from tinysplit.memory.code_in_ram import CodeBytes, RamCode, choose_ram_code, free_code_bytes
from tinysplit.settings.programs import CODE_MEMORY


@dataclass(frozen=True)
class CodePlacement:
    """The code of a board's layers that lies in RAM, how much RAM it takes at most, and the reason for the choice."""

    in_ram: RamCode
    ram_bytes: int = 0
    reason: str = ""  # none for boards without RAM on the code buses
    layers: tuple[int, ...] = ()  # 0-based, whose code is in RAM if not that of all

    @property
    def memory(self) -> CodeMemory:
        """The memory of the code of the layers."""
        return CodeMemory.FLASH if self.in_ram is RamCode.NONE else CodeMemory.RAM


IN_FLASH = CodePlacement(RamCode.NONE)


def place_code(
    board: Board,
    code_bytes: CodeBytes,
    waits: Mapping[int, CodeWaits],
    data_bytes: int,
    requested: CodeMemory | None,
    title: str,
) -> CodePlacement:
    """Return where the code of the layers of `board` lies; `requested` None chooses.

    `code_bytes` are those of the cost table, `waits` those of each layer with code in flash, `data_bytes` what
    firmware, links and arena take of level 1, which comes first. Raises UsageError if RAM is requested on a board
    without RAM on the code buses, CheckFailedError if the code does not fit there.
    """
    if board.code_ram is None:
        if requested is CodeMemory.RAM:
            raise UsageError(f"{CODE_MEMORY('ram')}: {title} has no RAM on the code buses")
        return IN_FLASH
    free_bytes = free_code_bytes(board, data_bytes)
    if requested is CodeMemory.RAM:
        _check_fits(board.code_ram, code_bytes.every, free_bytes, title)
    in_ram = choose_ram_code(board, code_bytes, data_bytes, requested)
    straight = tuple(number for number, own in waits.items() if own.straight) if in_ram is RamCode.STRAIGHT else ()
    placement = CodePlacement(in_ram, min(code_bytes.largest(in_ram), free_bytes), "requested", straight)
    if requested:
        return placement
    cycles = sum(own.cycles for own in waits.values())
    return replace(placement, reason=_reason(board, board.code_ram, placement, code_bytes, cycles, free_bytes))


def _check_fits(code_ram: CodeRam, estimated_bytes: int, free_bytes: int, title: str) -> None:
    """Raise CheckFailedError if the estimate does not fit; the upper bound need not, the linker has the last word."""
    if estimated_bytes > free_bytes:
        raise CheckFailedError(
            f"{CODE_MEMORY('ram')}: the code of the layers of {title} takes about {estimated_bytes} bytes, and"
            f" {free_bytes} of the {code_ram.size_bytes} bytes of {code_ram.name} are free"
        )


def _reason(
    board: Board, code_ram: CodeRam, code: CodePlacement, code_bytes: CodeBytes, cycles: float, free_bytes: int
) -> str:
    cache_bytes, text = board.caches.code_bytes, f"the code of its layers (about {code_bytes.every} bytes)"
    if not board.clock.flash_wait_states:
        return "flash has no wait states"
    if code_bytes.every <= cache_bytes:
        return f"{text} fits into the instruction cache of {cache_bytes} bytes"
    in_flash = f"in flash they would wait about {cycles:.0f} cycles for code"
    if code.in_ram is RamCode.ALL:
        return in_flash
    free = f"{free_bytes} of the {code_ram.size_bytes} bytes of {code_ram.name} are free"
    not_all = f"{free}, and {text} may take up to {code_bytes.largest(RamCode.ALL)}; {in_flash}"
    if code.in_ram is RamCode.NONE:
        return not_all
    layers = ", ".join(str(number + 1) for number in code.layers)
    return f"{not_all}; only code that overflows the instruction cache is in RAM (layers: {layers})"
