"""Opening of ELF files: damaged ones raise one kind of error, whatever pyelftools stumbles over."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from tinysplit.common.errors import TinysplitError, one_line
from tinysplit.common.input_files.limits import ELF_BYTES, read_limited

_OF_DAMAGE = (
    ELFError,
    ConstructError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


@contextmanager
def open_elf(path: Path, error: type[TinysplitError], remedy: str) -> Iterator[ELFFile]:
    """Yield an ELF file, which the block reads.

    Raises `error` with the remedy where it cannot be read, in the block, too, and InputError for more than the limit.
    """
    try:
        yield ELFFile(BytesIO(read_limited(path, ELF_BYTES)))
    except OSError as failure:
        raise error(f"{path} is not a readable ELF file ({failure.strerror}): {remedy}") from None
    except _OF_DAMAGE as failure:
        raise error(f"{path} is not a readable ELF file ({one_line(failure) or 'damaged'}): {remedy}") from None
