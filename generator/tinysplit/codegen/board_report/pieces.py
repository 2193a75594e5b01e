"""The pieces of code of a board report. What is expected of them is in the rules of time of virtual boards."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_family
from tinysplit.codegen.board_report.piece import (
    ALL_CORES,
    BASE,
    IN_FLASH,
    OFFSETS,
    WITH_DSP,
    WITH_MAINLINE,
    Piece,
    Place,
    Special,
    Variant,
)
from tinysplit.kernels.cores import ARMV6M_CORES

_, _, M3, M4, M7, M33 = ALL_CORES
_ISPR = 0xE000E200
_LINE_BYTES = 32  # between streams: at least a line of every cache
_MOST_STREAMS = 6
DMA_BYTES = 64  # enough that one more mispredicted branch does not matter
DMA_BAUD = 4_000_000  # which the UARTs of all families reach
_FIRMWARE_BYTES = 8192  # stack and variables, at most
_ENABLE_FPU = """
ldr r6, =0xE000ED88
ldr r7, [r6]
orr r7, r7, #0xF00000
str r7, [r6]
dsb
isb
vmov s0, r3
vmov s1, r3
vmov s2, r3
"""
_AS_L4 = ("stm32l4", "stm32g4", "stm32wb", "stm32wl")  # whose flash has the same caches
_WITH_PREFETCH_BUFFER = ("stm32f0", "stm32f1", "stm32f3", "stm32g0")  # families: two lines of code
_CALLED = "b 7f\n8:\nbx lr\n7:"


def _of_armv6m(rule: str) -> dict[str, int]:
    """Return what decides a rule of Cortex-M0 and M0+."""
    return {f"{core}.{rule}": 0 for core in sorted(ARMV6M_CORES)}


def _short(rule: str, offset: int) -> dict[str, int]:
    """Return a rule of the cores with a short pipeline."""
    return {f"{core}.{rule}": offset for core in (M3, M4)}


def _m33(rule: str, offset: int = 0) -> dict[str, int]:
    """Return a rule of Cortex-M33."""
    return {f"{M33}.{rule}": offset}


def _lines(*names: str) -> str:
    return "\n".join(names)


_PLAIN = (
    Piece(BASE, "", repeats=0, decides=_of_armv6m("taken_branch") | _short("refill", 0) | _m33("taken_branch")),
    Piece("NOPs", "nop", repeats=16, decides=_of_armv6m("system_bus_word"), decides_at=Place.RAM),
    Piece("add chain", "adds r4, #1", repeats=16),
    Piece("multiply chain", "muls r4, r5", "movs r4, #3\nmovs r5, #5"),
    Piece("load", "ldr r4, [r0]\nadds r5, #1", decides=_of_armv6m("load") | _short("load", 0)),
    Piece("load chain", "ldr r4, [r4]", "movs r4, r0"),
    Piece("loads in a row", "ldr r4, [r0]\nldr r5, [r0, #4]"),
    Piece("load, then use", "ldr r4, [r0]\nadds r5, r5, r4", decides=_m33("late_result")),
    Piece("loads of bytes", "ldrb r4, [r0, #4]\nldrb r5, [r0, #5]"),
    Piece("stores in a row", "str r4, [r0, #16]\nstr r5, [r0, #20]"),
    Piece("load after store", "str r4, [r0, #16]\nldr r5, [r0, #20]", decides=_short("load_after_store", 0)),
    Piece("load what is stored", "str r4, [r0, #16]\nldr r5, [r0, #16]"),
    Piece("store after load", "ldr r5, [r0, #20]\nadds r6, #1\nstr r4, [r0, #16]\nadds r6, #1"),
    Piece("store with index", "str r4, [r0, r5]\nadds r6, #1", "movs r5, #16", decides=_short("store_with_index", 0)),
    Piece(
        "LDM of three",
        "movs r4, r0\nadds r7, #1\nldmia r4!, {r5-r7}",
        decides=_of_armv6m("multiple") | _short("multiple", 0),
    ),
    Piece("STM of three", "movs r4, r0\nadds r7, #1\nstmia r4!, {r5-r7}", "adds r0, #16"),
    Piece("PUSH, POP of four", "push {r4-r7}\npop {r4-r7}"),
    Piece("address just computed", "adds r4, r0, #4\nldr r5, [r4]", decides=_short("address_interlock", 0)),
    Piece("branch, same line", "b 9f\nnop\n9:", repeats=3),
    Piece(
        "branch, other line",
        "b 9f\n.balign 32\n9:\nnop",
        repeats=4,
        decides=_m33("taken_branch_in_pair"),
    ),
    Piece("call and return", "bl 8b", _CALLED, repeats=4, decides=_of_armv6m("call")),
    Piece(
        "return by POP",
        "bl 8b",
        "b 7f\n8:\npush {lr}\npop {pc}\n7:",
        repeats=4,
        decides=_of_armv6m("multiple_to_pc") | _short("refill_from_memory", 0) | _m33("loaded_branch"),
    ),
    Piece("MRS", "mrs r4, primask", repeats=4, decides={f"{core}.special": 0 for core in ALL_CORES}),
    Piece(
        "exception and back",
        "str r5, [r6]\ndsb\nisb",
        "ldr r6, ={ispr}\nldr r5, ={interrupt_bit}\ncpsie i",
        repeats=1,
        places=IN_FLASH,
        decides={f"{core}.exception_entry": 0 for core in ALL_CORES},
    ),
    Piece("wake-up from WFI", "", repeats=0, places=IN_FLASH, special=Special.WAKE_UP, loops=16),
    Piece("UART byte", "", repeats=0, places=IN_FLASH, special=Special.UART_BYTE, loops=8),
)


_LINE = ["nop"] * 15  # of a line of 32 bytes, beside the branch at its end


def _wide(count: int) -> Piece:
    group = [f"add.w r{4 + number}, r{4 + number}, #1" for number in range(count)]
    narrow = ["adds r4, #1"] * 2
    decides = _short("third_unaligned_wide", 2) if count == 3 else {}  # noqa: PLR2004 (as the rule says)
    return Piece(f"group of {count} wide", _lines(*group, *narrow), repeats=3, cores=WITH_MAINLINE, decides=decides)


def _floating(name: str, body: str, repeats: int, *rules: str) -> Piece:
    return Piece(name, body, _ENABLE_FPU, repeats, cores=WITH_DSP, decides=dict.fromkeys(rules, 0), needs_fpu=True)


_OF_MAINLINE = (
    Piece("wide NOPs", "nop.w", cores=WITH_MAINLINE, decides=_short("system_bus_word", 0), decides_at=Place.RAM),
    *(_wide(count) for count in (1, 2, 3, 4, 6)),
    Piece(
        "pair of wide loads",
        "adds r6, #1\nadds r6, #1\nldr.w r4, [r0]\nldr.w r5, [r0, #4]",
        repeats=4,
        cores=WITH_MAINLINE,
        decides=_short("unaligned_wide_load", 2),
    ),
    Piece(
        "branches among lines",
        _lines(".balign 32", *_LINE, "b 3f", "2:", *_LINE, "b 4f", "3:", *_LINE, "b 2b", "4:", *_LINE),
        repeats=2,
        cores=WITH_MAINLINE,
        decides={
            **{f"{family}.new_line_branch": 0 for family in _AS_L4},
            "stm32f4.keeps_prefetched": 2,
        },
    ),
    Piece(
        "branch to a wide one",
        "b 9f\nnop\n9:\nadd.w r4, r4, #1",
        repeats=4,
        cores=WITH_MAINLINE,
        decides=_short("refetch", 2) | _m33("refetch", 2),
    ),
    Piece(
        "write-back, same base",
        "mov r6, r0\nadds r7, #1\nldr r4, [r6], #4\nldr r5, [r6], #4",
        repeats=3,
        cores=WITH_MAINLINE,
        decides=_short("write_back_same_base", 0),
    ),
    Piece(
        "write-back, two bases",
        "mov r6, r0\nmov r7, r0\nadds r8, r8, #1\nldr r4, [r6], #4\nldr r5, [r7], #4",
        repeats=3,
        cores=WITH_MAINLINE,
    ),
    Piece("LDRD", "ldrd r4, r5, [r0]", repeats=4, cores=WITH_MAINLINE, decides=_short("double", 0) | _m33("double")),
    Piece("STRD", "strd r4, r5, [r0, #16]", repeats=4, cores=WITH_MAINLINE),
    Piece("unaligned word load", "ldr r4, [r0, #5]\nadds r6, #1", repeats=4, cores=WITH_MAINLINE),
    Piece(
        "MULS before others",  # none waits for its result
        "muls r4, r5\nadds r6, #1\nadds r7, #1",
        "movs r4, #3\nmovs r5, #5",
        repeats=4,
        cores=WITH_MAINLINE,
        decides=_m33("flags_of_late_result"),
    ),
    Piece("MLA chain", "mla r4, r5, r6, r4", repeats=4, cores=WITH_MAINLINE, decides={f"{M3}.multiply_add": 0}),
    Piece("UMULL chain", "umull r4, r7, r5, r7", repeats=4, cores=WITH_MAINLINE, decides={f"{M3}.long_multiply": 0}),
    Piece("SMLAD chain", "smlad r4, r5, r6, r4", repeats=4, cores=WITH_DSP),
    Piece(
        "SMLAL chain", "smlal r4, r7, r5, r6", repeats=4, cores=WITH_MAINLINE, decides={f"{M3}.long_multiply_add": 0}
    ),
    Piece("loads and SMLAD", "ldr.w r5, [r0]\nldr.w r6, [r0, #4]\nsmlad r4, r5, r6, r4", repeats=3, cores=WITH_DSP),
    Piece(
        "division, short",
        "udiv r4, r5, r6",
        "movs r5, #1\nmovs r6, #3",
        repeats=4,
        cores=WITH_MAINLINE,
        decides={**_short("shortest_division", 0), f"{M7}.shortest_division": 0, **_m33("shortest_division")},
    ),
    Piece("division, long", "udiv r4, r5, r6", "mvn r5, #0\nmovs r6, #1", repeats=4, cores=WITH_MAINLINE),
    Piece(
        "table branch",
        "movs r5, #0\ntbb [pc, r5]\n.byte 1, 1\n",
        repeats=3,
        cores=WITH_MAINLINE,
        decides={**_short("table_branch", 0), f"{M7}.table_branch": 0, **_m33("table_branch")},
    ),
    Piece("ISB", "isb", repeats=4, cores=WITH_MAINLINE, decides={f"{M7}.barrier_refetch": 0}),
    Piece("PLD", "pld [r0]", repeats=4, cores=WITH_MAINLINE, decides=_short("preload", 0)),
    _floating("FPU load", "vldr s3, [r0]\nadds r6, #1", 4, f"{M4}.fpu_load"),
    _floating("FPU add chain", "vadd.f32 s0, s0, s1", 4, f"{M4}.fpu_interlock", f"{M33}.fpu_result"),
    _floating("FPU FMA chain", "vfma.f32 s0, s1, s2", 4, f"{M4}.fpu_fused", f"{M33}.fpu_fused"),
    _floating("FPU division", "vdiv.f32 s0, s1, s2", 2, f"{M4}.fpu_division", f"{M33}.fpu_division"),
)

_OF_M7 = (
    Piece(
        "loads, other bases",
        "ldr r4, [r0, #4]\nldr r5, [r6, #16]",
        "mov r6, r0",
        cores=(M7,),
        decides={f"{M7}.other_bases_pair": 0},
    ),
    Piece("loads, same DTCM", "ldr r4, [r0]\nldr r5, [r0, #8]", cores=(M7,)),
    Piece("loads, both DTCMs", "ldr r4, [r0]\nldr r5, [r0, #4]", cores=(M7,)),
    Piece("loads of the AXI SRAM", "ldr r4, [r1]\nldr r5, [r1, #4]", cores=(M7,)),
    Piece(
        "mispredicted branch",
        "lsrs r6, r5, #1\nbcc 9f\neors r6, r7\n9:\nmov r5, r6\nlsrs r8, r5, #1\nbcc 9f\nnop\n9:",
        "ldr r5, =0xACE1\nldr r7, =0xB400",
        repeats=1,
        loops=256,
        cores=(M7,),
        decides={f"{M7}.mispredicted": 0},
    ),
    Piece(
        "mispredicted early",
        "lsrs r6, r5, #1\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nbcc 9f\neors r6, r7\n9:\nmov r5, r6",
        "ldr r5, =0xACE1\nldr r7, =0xB400",
        repeats=1,
        loops=256,
        cores=(M7,),
        decides={f"{M7}.mispredicted_early": 0},
    ),
)
_LONGEST_LINE = 32


def _line_fills(streams: int) -> Piece:
    """Return a piece that reads a line of each stream, which is twice as long as the data cache."""
    loads = ("ldr r7, [r4]", "ldr r10, [r8]")[:streams]
    return Piece(
        f"{streams} x line fill",
        _lines("and r4, r6, r5", "add r4, r4, r1", "add r8, r4, r9", *loads, "add r6, r6, #32"),
        "movs r6, #0\nldr r5, ={line_mask}\nldr r9, ={stream_bytes}",
        repeats=1,
        loops=2048,
        cores=(M7,),
        places=IN_FLASH,
    )


def _stream(count: int, kinds: tuple[str, ...]) -> Piece:
    """Return a piece that reads `count` streams of flash, which go on by a word each time."""
    kind = "+".join({"ldr": "word", "ldrb": "byte"}[each] for each in kinds)
    loads = []
    for number in range(count):
        load = kinds[number % len(kinds)]
        offset = number * (8 if load == "ldrb" and "ldr" not in kinds else _LINE_BYTES)
        if load == "ldrb" and "ldr" in kinds:
            offset = 16 + number
        loads.append(f"{load} r{4 + number % 3}, [r2, #{offset}]")
    cores = ALL_CORES if count <= 4 else WITH_MAINLINE  # noqa: PLR2004 (offsets of 16-bit instructions)
    return Piece(
        f"{count} x {kind} of flash",
        _lines(*loads, "adds r2, #4"),
        repeats=2,
        loops=64,
        cores=cores,
        places=IN_FLASH,
    )


def _cache_loop(board: Board, percent: int) -> Piece:
    """Return a loop of NOPs that is as large as a part of the code cache."""
    by_family = dict.fromkeys(_AS_L4, 50) | dict.fromkeys(_WITH_PREFETCH_BUFFER, 125)
    telling = by_family.get(board.device.family)  # by what the cache keeps
    decides = {f"{board.device.family}.keeps_prefetched": 0} if percent == telling else {}
    cache_bytes = board.caches.code_bytes + (board.caches.data_bytes if board.device.core == M33 else 0)  # ICACHE: one
    return Piece(
        f"loop, {percent} % of cache",
        "nop",
        repeats=max(cache_bytes * percent // 200 - 3, 1),
        loops=8,
        places=IN_FLASH,
        decides=decides if board.device.core != M7 else {},
    )


def _of_banks(board: Board) -> tuple[Piece, ...]:
    """Return what reads two memories in turn."""
    if board.device.core == M7:
        return (Piece("DTCM and AXI SRAM", "ldr r4, [r0]\nldr r5, [r1]", cores=(M7,)),)
    if board.code_ram is None:
        return ()
    return (Piece("SRAM1 and SRAM2", "ldr r4, [r0]\nldr r5, [r7]", "ldr r7, ={other_sram}", cores=WITH_MAINLINE),)


def _beside_dma(board: Board) -> tuple[Piece, ...]:
    """Return what touches the memory from which DMA sends bytes: before that, and meanwhile.

    A byte takes ten bit times. The fastest core still loops when the last byte is sent.
    """
    repeats, least_cycles = 8, 8  # of a loop: two instructions a repeat, and at most two a cycle
    loops = ceil(DMA_BYTES * 10 * board.clock.core_hz / DMA_BAUD / least_cycles)
    bodies = {
        "loads": "ldr r4, [r1]\nldr r5, [r1, #4]",
        "stores": "str r4, [r1, #16]\nstr r5, [r1, #20]",
        "fetches": "nop\nnop",
    }
    pieces: list[Piece] = []
    for name, body in bodies.items():
        alone = Piece(f"{name}, no DMA", body, repeats=repeats, loops=loops, dma_bytes=0)
        decides = {f"{board.device.core}.dma_wait": 0} if name == "loads" else {}
        busy = replace(alone, name=f"{name} beside DMA", base=alone, dma_bytes=DMA_BYTES, decides=decides)
        pieces += [alone, busy]
    return tuple(pieces)


def _reason_against(piece: Piece, board: Board) -> str:
    return piece.reason_against(board.device.core, has_fpu=load_family(board.device.name).has_fpu)


def pieces_of(board: Board) -> tuple[Piece, ...]:
    """Return the pieces that a board runs, in their order."""
    streams = (
        *(_stream(count, ("ldr",)) for count in range(1, _MOST_STREAMS + 1)),
        *(_stream(count, ("ldrb",)) for count in (2, 4)),
        *(_stream(count, ("ldrb", "ldr")) for count in (2, 4)),
    )
    loops = tuple(_cache_loop(board, percent) for percent in (50, 100, 125, 150, 200))
    every = (*_PLAIN, *_OF_MAINLINE, *_OF_M7, _line_fills(1), _line_fills(2), *_of_banks(board), *streams, *loops)
    every = (*every, *_beside_dma(board))
    return tuple(piece for piece in every if not _reason_against(piece, board))


def left_out(board: Board) -> Mapping[str, str]:
    """Return what a board does without, by name, with the reasons."""
    core = board.device.core
    pieces = (*_PLAIN, *_OF_MAINLINE, *_OF_M7)
    reasons = {piece.name: reason for piece in pieces if (reason := _reason_against(piece, board))}
    if not _of_banks(board):
        reasons["SRAM banks in turn"] = f"{board.device.name} has no RAM on the code buses beside another"
    if board.code_ram is None:
        reasons[Place.CODE_RAM] = f"{board.device.name} has no RAM on the code buses"
    if core == M7:
        reasons[Place.RAM] = "the program is not copied into the AXI SRAM"
    return reasons


def facts_of(board: Board, interrupt: int) -> Mapping[str, str]:
    """Return the facts of a board that pieces name in braces."""
    other = board.code_ram.data_start + board.code_ram.size_bytes - 2 * _LONGEST_LINE if board.code_ram else 0
    stream_bytes = other_bytes(board) // 2
    return {
        "{ispr}": f"{_ISPR + 4 * (interrupt // 32):#x}",
        "{interrupt_bit}": f"{1 << interrupt % 32:#x}",
        "{other_sram}": f"{other:#x}",
        "{line_mask}": f"{(stream_bytes - 1) & -_LONGEST_LINE:#x}",
        "{stream_bytes}": f"{stream_bytes:#x}",
    }


def other_bytes(board: Board) -> int:
    """Return the size of the memory of r1: two streams, each twice as long as the data cache, else what DMA sends."""
    return 4 * board.caches.data_bytes if board.device.core == M7 else DMA_BYTES


def variants_of(board: Board) -> tuple[Variant, ...]:
    """Return the pieces at all their places where the memories have room, in the order of their numbers."""
    rooms = _rooms(board)
    variants = []
    for piece in pieces_of(board):
        for place in piece.places if piece.special is None and piece.base is None else ():
            needed = len(OFFSETS) * piece.size_bytes
            if rooms[place] >= needed:
                rooms[place] -= needed
                variants += [Variant(piece, place, offset) for offset in OFFSETS]
    return tuple(variants)


def _rooms(board: Board) -> dict[Place, int]:
    """Return the bytes that pieces may take of each memory."""
    in_ram = 0 if board.device.core == M7 else board.near_memory.size_bytes - _FIRMWARE_BYTES
    if board.code_ram and not board.code_ram.is_apart:
        in_ram -= board.code_ram.size_bytes
    return {
        Place.FLASH: board.device.flash.size_bytes // 2,
        Place.RAM: in_ram,
        Place.CODE_RAM: board.code_ram.size_bytes - 4 * _LONGEST_LINE if board.code_ram else 0,
    }
