"""`src/project_hash.c`: the hash of the project, and the note by which a program says what it is."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit import __version__
from tinysplit.boards.board import Board
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.protocol_limits import PROTOCOL_VERSION
from tinysplit.common.templates import render
from tinysplit.common.texts.quoting import c_string
from tinysplit.project.manifest import ProjectModel
from tinysplit.project.structure import sources_of

NOTE_OWNER = "tinysplit"
NOTE_TYPE = 1
_LONGEST_NAME = 64  # characters of the model's name
_CHARACTERS_ON_LINE = 96


@dataclass(frozen=True)
class ProjectHashContext:
    """The names of `project/project_hash.c.j2`; `note_lines` are pieces of a C string of `note_bytes` characters."""

    project_hash: int
    owner: str
    note_type: int
    note_lines: Sequence[str]
    note_bytes: int


@dataclass(frozen=True, kw_only=True)
class BoardNote:
    """What the program of a board says about itself, but for the hash of the project.

    `model` None: it is in a configuration file, and not the program's. `host_protocol` is that of the project.
    """

    number: int
    board: Board
    model: ProjectModel | None
    host_baud: int
    link_bauds: Sequence[int]
    host_protocol: HostProtocol = HostProtocol.TINYSPLIT
    signing_key: str | None = None

    def text(self, project_hash: int) -> str:
        """Return the note as JSON."""
        facts = {
            "tinysplit": __version__,
            "protocol": PROTOCOL_VERSION,
            **({"model": self.model.name[:_LONGEST_NAME], "model_sha256": self.model.sha256} if self.model else {}),
            **({"signing_key": self.signing_key} if self.signing_key else {}),
            "board": self.number,
            "name": self.board.name,
            "device": self.board.device.name,
            "clock": self.board.clock_source.value,
            "core_hz": self.board.clock.core_hz,
            "host_protocol": self.host_protocol.value,
            "host_baud": self.host_baud,
            "link_bauds": list(self.link_bauds),
            "project_hash": f"{project_hash:08x}",
        }
        return json.dumps(facts, separators=(",", ":"))


def write_project_hash(notes: Mapping[Path, BoardNote]) -> int:
    """Write the hash of the projects of all boards into each of them, with the board's note, and return it.

    `notes` are by the directories of the boards, in the order of their numbers.
    """
    project_hash = _hash(notes)
    for directory, note in notes.items():
        text = note.text(project_hash)
        lines = [c_string(text[i : i + _CHARACTERS_ON_LINE]) for i in range(0, len(text), _CHARACTERS_ON_LINE)]
        context = ProjectHashContext(project_hash, NOTE_OWNER, NOTE_TYPE, lines, len(text))
        path = directory / "src" / "project_hash.c"
        path.write_text(render("project/project_hash.c.j2", context), encoding="utf-8")
    return project_hash


def _hash(directories: Iterable[Path]) -> int:
    """Return 32 bits of the SHA-256 of all C sources and linker scripts, without comments and contents of weights."""
    digest = hashlib.sha256()
    for directory in directories:
        for name, text in sources_of(directory):
            digest.update(f"{name}\n".encode())
            digest.update(text)
    return int.from_bytes(digest.digest()[:4], "little")
