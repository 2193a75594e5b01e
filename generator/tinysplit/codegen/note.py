"""`src/project_hash.c`: the hash of the project, and the note by which a program says what it is."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.common.protocol_limits import PROTOCOL_VERSION
from tinysplit.common.templates import render
from tinysplit.common.texts.quoting import c_string
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.project.structure import sources_of

NOTE_OWNER = "tinysplit"
NOTE_TYPE = 1
_LONGEST_NAME = 64  # characters of the model's name
_CHARACTERS_ON_LINE = 96

Note = Mapping[str, object]


@dataclass(frozen=True)
class ProjectHashContext:
    """The names of `project/project_hash.c.j2`; `note_lines` are pieces of a C string of `note_bytes` characters."""

    project_hash: int
    owner: str
    note_type: int
    note_lines: Sequence[str]
    note_bytes: int


def board_note(project: Project, own: ProjectBoard, board: Board) -> Note:
    """Return what the program of a board says about itself, but for the hash of the project."""
    own_links = [link for link in project.links if own.number in link.boards]
    return {
        "tinysplit": project.tinysplit_version,
        "protocol": PROTOCOL_VERSION,
        **({} if project.weights_counter else _model(project)),
        **({"signing_key": project.signing_key} if project.signing_key else {}),
        "board": own.number,
        "name": board.name,
        "device": board.device.name,
        "clock": board.clock_source.value,
        "core_hz": board.clock.core_hz,
        "host_protocol": project.host_protocol.value,
        "host_baud": project.host_baud,
        "link_bauds": [link.baud for link in own_links],
    }


def _model(project: Project) -> Note:
    """Return what is known of the model: with configuration files, it is not the program's."""
    return {"model": project.model.name[:_LONGEST_NAME], "model_sha256": project.model.sha256}


def write_project_hash(directories: Sequence[Path], notes: Sequence[Note]) -> int:
    """Return the hash of the projects of all boards, after it and each board's note are written into them."""
    project_hash = _hash(directories)
    for directory, note in zip(directories, notes, strict=True):
        text = json.dumps({**note, "project_hash": f"{project_hash:08x}"}, separators=(",", ":"))
        lines = [c_string(text[i : i + _CHARACTERS_ON_LINE]) for i in range(0, len(text), _CHARACTERS_ON_LINE)]
        context = ProjectHashContext(project_hash, NOTE_OWNER, NOTE_TYPE, lines, len(text))
        path = directory / "src" / "project_hash.c"
        path.write_text(render("project/project_hash.c.j2", context), encoding="utf-8")
    return project_hash


def _hash(directories: Sequence[Path]) -> int:
    """Return 32 bits of the SHA-256 of all C sources and linker scripts, without comments and contents of weights."""
    digest = hashlib.sha256()
    for directory in directories:
        for name, text in sources_of(directory):
            digest.update(f"{name}\n".encode())
            digest.update(text)
    return int.from_bytes(digest.digest()[:4], "little")
