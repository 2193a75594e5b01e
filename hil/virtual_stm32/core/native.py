"""The C part of the virtual boards, compiled on first use, and its structures for ctypes."""

import ctypes
import hashlib
import logging
import subprocess
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from enum import IntEnum, IntFlag
from functools import lru_cache
from pathlib import Path

from tinysplit.common.cache import cache_directory
from tinysplit.common.errors import ToolError
from tinysplit.common.interrupts.children import child
from tinysplit.common.interrupts.temporary import temporary_file
from tinysplit.common.log import log_program

_log = logging.getLogger(__name__)
_SOURCES = sorted(Path(__file__).parent.glob("*.c"))
_HEADERS = sorted(Path(__file__).parent.glob("*.h"))
_PREDICTED_BRANCHES = 64  # of core_timing.h
LONGEST_DIVISION = 10  # cycles that core_timing.h adds
_REMEDY = "install it with its headers (Debian: apt-get install gcc libc6-dev)"
_FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")


class Reason(IntEnum):
    """Reason for the end of a run, in the order of reason_t."""

    RUNNING = 0
    IN_TIME = 1
    LOOPING = 2
    SLEEPING = 3
    RETURNING = 4
    UNMASKED = 5
    FAILED = 6
    BAD_ACCESS = 7
    TRAPPED = 8
    REFUSED = 9
    STOPPED = 10
    AT_BKPT = 11


REASONS = tuple(Reason)  # by number


class BlockFlag(IntFlag):
    """Properties of a basic block."""

    REPEATABLE = 1  # writes neither memory nor floating point registers
    SETS_MASK = 2  # ends with an instruction that may change PRIMASK
    SLEEPS = 4  # ends with WFI
    MARKED = 8  # cycles and stalls are recorded when it begins
    CONDITIONAL = 16  # has an IT instruction, or may begin behind one


class CAccess(Structure):
    """Mirror of access_t."""

    _fields_ = (
        ("base", c_uint32),
        ("index", c_uint32),
        ("shift", c_uint32),
        ("offset", c_uint32),
        ("cycles", c_uint32 * 4),
    )


class CBlock(Structure):
    """Mirror of block_t."""

    _fields_ = (
        ("address", c_uint32),
        ("end", c_uint32),
        ("cycles", c_uint32),
        ("taken", c_uint32),
        ("flags", c_uint32),
        ("entered", c_int32),
        ("branch", c_uint32),
        ("mispredicted", c_uint32),
        ("longest", c_uint32),
        ("access_count", c_uint32),
        ("word_count", c_uint32),
        ("reserved", c_uint32),
        ("before", POINTER(c_uint32)),
        ("accesses", POINTER(CAccess)),
    )


CODE_WINDOWS, WINDOW_BITS = 64, 26  # equal parts of the address space, and the bits of an address in one


class CodeWindow(Structure):
    """Mirror of code_t."""

    _fields_ = (("blocks", POINTER(c_void_p)), ("start", c_uint32), ("size", c_uint32))


class CMark(Structure):
    """Mirror of mark_t."""

    _fields_ = (("address", c_uint64), ("cycles", c_uint64), ("stalls", c_uint64 * 3))


class MemoryModel(Structure):
    """Mirror of the beginning of memory_t."""

    _fields_ = (
        *((name, c_void_p) for name in ("fetch", "read", "write", "state")),
        ("fetch_bytes", c_uint32),
        ("longest_stall", c_uint32),
        ("stalls", c_uint64 * 3),
    )


DescribeCallback = CFUNCTYPE(c_void_p, c_uint32, c_uint32)
ReadCallback = CFUNCTYPE(c_uint32, c_uint32, c_uint32, c_uint64)
WriteCallback = CFUNCTYPE(None, c_uint32, c_uint32, c_uint32, c_uint64)
FailedCallback = CFUNCTYPE(c_bool, c_uint32)

# Functions of Unicorn's library, in the order of board_t.
UNICORN_FUNCTIONS = (
    "uc_emu_start",
    "uc_emu_stop",
    "uc_reg_read",
    "uc_reg_write",
    "uc_reg_read_batch",
    "uc_mem_read",
    "uc_mem_write",
)


class CExternalFlash(Structure):
    """Mirror of external_t."""

    _fields_ = (
        *((name, c_uint32) for name in ("start", "size", "is_mapped", "fifo_bytes", "burst_cycles", "byte_cycles")),
        *((name, c_uint32) for name in ("idle_cycles", "is_reading", "next", "level")),
        ("since", c_uint64),
        ("read_cycles", c_uint64),
    )


class ProtectedBytes(Structure):
    """Mirror of protected_t."""

    _fields_ = (("start", c_uint32), ("size", c_uint32), ("denied", c_uint32))


class CBoardState(Structure):
    """Mirror of board_t; the fields that only C uses are `loop_search`."""

    _fields_ = (
        ("uc", c_void_p),
        *((name, c_void_p) for name in UNICORN_FUNCTIONS),
        ("describe", DescribeCallback),
        ("read", ReadCallback),
        ("write", WriteCallback),
        ("failed", FailedCallback),
        ("code", POINTER(CodeWindow)),
        ("cycles", c_uint64),
        ("deadline", c_uint64),
        ("horizon", c_uint64),
        ("current", c_void_p),
        ("period", c_uint64),
        ("reason", c_uint32),
        ("is_pending", c_uint32),
        ("finds_loops", c_uint32),
        ("touched", c_uint32),
        ("access_pc", c_uint32),
        ("fault_kind", c_uint32),
        ("fault_address", c_uint32),
        ("fault_size", c_uint32),
        ("may_overrun", c_uint32),
        ("mark_count", c_uint32),
        ("marks", POINTER(CMark)),
        ("mark_limit", c_uint32),
        ("stalls", c_uint32),
        ("memory", c_void_p),
        ("external", c_void_p),
        ("fetch_address", c_uint32),
        ("accessed_by", c_uint32),
        ("words_accessed", c_uint32),
        ("is_debuggable", c_uint32),
        ("steps", c_uint32),
        ("polled_by", c_uint32),
        ("polled_value", c_uint32),
        ("protected_count", c_uint32),
        ("protected", POINTER(ProtectedBytes)),
        ("loop_search", c_uint64 * 12),
        ("predictions", c_uint32 * (2 * _PREDICTED_BRANCHES * 3)),
    )


class Division(Structure):
    """Mirror of division_t."""

    _fields_ = (("board", POINTER(CBoardState)), ("dividend", c_uint32), ("divisor", c_uint32), ("is_signed", c_uint32))


class TornWords(Structure):
    """Mirror of torn_t."""

    _fields_ = (("board", POINTER(CBoardState)), ("start", c_uint32), ("is_torn", POINTER(c_uint8)))


class CRegion(Structure):
    """Mirror of region_t."""

    _fields_ = (("board", POINTER(CBoardState)), ("base", c_uint32))


@lru_cache
def library() -> ctypes.CDLL:
    """Return the compiled C part. Raises ToolError when gcc is missing or fails."""
    text = b"".join(path.read_bytes() for path in (*_SOURCES, *_HEADERS))
    name = hashlib.sha256(text + " ".join(_FLAGS).encode()).hexdigest()[:16]
    path = cache_directory() / f"virtual_core_{name}.so"
    if not path.exists():
        _compile(path)
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolError(
            f"the virtual boards cannot be loaded ({error}): remove {path}, or set XDG_CACHE_HOME to a folder in"
            " which programs may be run"
        ) from None
    loaded.run.argtypes = [POINTER(CBoardState)]
    loaded.run.restype = None
    loaded.enter_exception.argtypes = [POINTER(CBoardState), c_uint32, c_uint32, c_uint32]
    loaded.enter_exception.restype = c_bool
    loaded.leave_exception.argtypes = [POINTER(CBoardState), c_uint32]
    loaded.leave_exception.restype = c_bool
    loaded.is_masked.argtypes = [POINTER(CBoardState)]
    loaded.is_masked.restype = c_bool
    _declare_memories(loaded)
    return loaded


def _declare_memories(loaded: ctypes.CDLL) -> None:
    loaded.flash_bytes.restype = loaded.buses_bytes.restype = c_size_t
    loaded.flash_begin.argtypes = [c_void_p, *[c_uint32] * 6, c_bool, *[c_uint32] * 2, c_char_p]
    loaded.flash_set.argtypes = [c_void_p, c_uint32, c_bool, c_bool, c_bool]
    loaded.buses_begin.argtypes = [c_void_p, *[c_uint32] * 5]
    loaded.buses_set.argtypes = [c_void_p, *[c_uint32] * 4, c_bool]
    loaded.buses_switch.argtypes = [c_void_p, c_bool, c_bool]
    loaded.buses_maintain.argtypes = [c_void_p, c_uint32, c_bool, c_bool]


def _compile(path: Path) -> None:
    """Compile to `path`, atomically: another process may do the same at the same time."""
    with temporary_file(path) as result:
        command = ["gcc", *_FLAGS, *map(str, _SOURCES), "-o", str(result)]
        log_program(_log, command)
        try:
            with child(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
                errors = process.communicate()[1]
        except FileNotFoundError:
            raise ToolError(f"virtual boards need a C compiler, and gcc is not there: {_REMEDY}") from None
        if process.returncode:
            reason = (errors.strip() or f"exit code {process.returncode}").splitlines()[0]
            raise ToolError(f"gcc cannot compile the virtual boards ({reason}): {_REMEDY}")
        result.replace(path)
