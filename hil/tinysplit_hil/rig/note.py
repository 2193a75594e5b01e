"""The note of a program: what it is, as its ELF file and the running board say."""

import json
import re
from pathlib import Path
from typing import Any

import serial

from tinysplit.codegen.note import NOTE_OWNER
from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.input_files.elf_file import open_elf
from tinysplit.settings.boards_and_links import BAUD
from tinysplit_hil.rig.ports import open_port
from tinysplit_hil.wire.client import BoardClient

SECTION = ".note.tinysplit"
NOTE_COMMAND = b"%note%"  # of MLPerf's protocol; the first % ends what the board may have received before
_NOTE_LINE = re.compile(rb"m-tinysplit-\[(.*)\]\r\n")
_REPLY_S = 2.0  # of a board that speaks MLPerf's protocol
_LONGEST_LINE = 2048


def note_of_elf(path: Path) -> dict[str, Any]:
    """Return the note of an ELF file. Raises InputError where it has none."""
    with open_elf(path, InputError, "name one that tinysplit has built, or a weights.bin") as elf:
        section = elf.get_section_by_name(SECTION)
        texts = [each["n_desc"] for each in (section.iter_notes() if section else ()) if each["n_name"] == NOTE_OWNER]
    if not texts:
        raise InputError(f"{path} has no note of tinysplit: build its project again")
    return parse_note(texts[0], str(path))


def note_of_port(name: str, baud: int | None) -> dict[str, Any]:
    """Return the note of the board at a port, in our protocol or MLPerf's, at `baud` or the usual rate of each.

    Raises ToolError when nothing answers.
    """
    for protocol, ask in ((HostProtocol.TINYSPLIT, _asked), (HostProtocol.MLPERF, _asked_in_lines)):
        with open_port(name, baud or protocol.usual_baud) as port:
            text = ask(port)
        if text is not None:
            return parse_note(text, name)
    raise ToolError(f"no board answers at {name}: check its power and firmware, and its baud rate ({BAUD})")


def _asked(port: serial.SerialBase) -> bytes | None:
    client = BoardClient(port, "the board")
    try:
        return client.run(client.note())
    except ToolError:
        return None


def _asked_in_lines(port: serial.SerialBase) -> bytes | None:
    port.timeout = _REPLY_S
    port.write(NOTE_COMMAND)
    while line := port.read_until(b"\n", _LONGEST_LINE):
        if text := note_in(line):
            return text
    return None


def note_in(received: bytes) -> bytes | None:
    """Return the note in lines of MLPerf's protocol, None while there is none."""
    match = _NOTE_LINE.search(received)
    return match[1] if match else None


def parse_note(text: bytes, source: str) -> dict[str, Any]:
    """Return the note of `source`. Raises ToolError where it is damaged."""
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        note = None
    if not isinstance(note, dict):
        raise ToolError(f"the note of {source} is damaged: build and flash the board again")
    return note
