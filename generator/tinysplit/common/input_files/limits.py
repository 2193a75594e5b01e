"""Limits of files from others, far above what networks for microcontrollers need (docs/reference/security.md)."""

from pathlib import Path

from tinysplit.common.errors import InputError

KIB, MIB, GIB = 2**10, 2**20, 2**30

TOML_BYTES = 256 * KIB
JSON_BYTES = 64 * MIB
TIMES_BYTES = 16 * MIB  # of a file of arrival times
ELF_BYTES = 256 * MIB
TRACE_BYTES = 64 * MIB  # of a trace of currents
TRACE_LINE_CHARACTERS = 16 * MIB  # of a logic analyser's trace
TRACE_CHANGES = 16 * MIB  # of all its channels
TABLE_BYTES = 256 * MIB  # of a .csv file with samples
LINE_BYTES = 16 * MIB  # of a sample in a .csv file, and of a line of a journal
ARRAY_BYTES = 2 * GIB  # of all arrays of a file, as they are stored and as float32
PIXELS = 16 * MIB  # of one image
IMAGE_BYTES = 128 * MIB  # of its file
MODEL_BYTES = GIB  # of an ONNX file with its files of weights
MODEL_NODES = 10_000
VALUE_ELEMENTS = 16 * MIB  # of one value that the network computes
NETWORK_ELEMENTS = 256 * MIB  # of all values that it computes
CONSTANT_ELEMENTS = 256 * MIB  # of all its constants: 1 GiB in float32
EXPANDED_ELEMENTS = 1 << 22  # of weights that the import makes of fewer in the file
CONSTANT_OPERATIONS = 64 * GIB  # to compute them: some seconds
WEIGHTS_FILE_BYTES = 256 * MIB  # the addresses of one external memory


def size_text(n_bytes: int) -> str:
    """Return a limit in the largest unit of which it is a whole number: "64 MiB"."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n_bytes >= unit and n_bytes % unit == 0:
            return f"{n_bytes // unit} {name}"
    return f"{n_bytes} bytes"


def read_limited(path: Path, limit_bytes: int, remedy: str = "give a smaller one") -> bytes:
    """Return the bytes of a file, of which no more than one beyond the limit is read; `remedy` ends the message.

    Raises InputError for a larger file, OSError for one that cannot be read.
    """
    with path.open("rb") as file:
        contents = file.read(limit_bytes + 1)
    if len(contents) > limit_bytes:
        raise InputError(f"{path} has more than {size_text(limit_bytes)}, the limit for such files: {remedy}")
    return contents
