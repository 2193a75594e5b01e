"""A desk without boards: programmers that are scripts on the PATH, and boards that answer on ptys.

Scripts and boards share a folder: SERIAL.json has what the part answers and how its programming fails, SERIAL.image
what it runs: the text beside the ELF file that was flashed (.runs), or its path. Each call of a programmer is a line of
log.jsonl.
"""

import json
import os
import pty
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from programs.virtual_firmware import assembler, build
from rigs.fake_boards import make_identity
from rigs.fake_rig import HASH, make_project
from tinysplit.boards.catalog import load_board
from tinysplit.project.manifest import Project
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.protocol import REPLY_BIT, MessageType
from virtual_stm32.peripherals.usart import misread

OTHER_HASH = 0xDEADBEEF
IDCODE, OPTIONS = 0x2000_6460, 0xFFFF_FEAA  # of a STM32G071 without read-out protection
ACR, EMPTY = 0x0004_0600, 1 << 16  # of its flash, and the flag of the empty check
SERIALS = ("066EFF01", "066EFF02")
LOOK_S = 0.01
CHECKSUM = '__attribute__((section(".checksum"), used)) const unsigned checksum = 0x5AFE0001;'

_PROGRAMMER = """#!{python}
import json, os, re, sys, time
from pathlib import Path
desk, line = Path({desk!r}), " ".join(sys.argv[1:])
serial = next((path.stem for path in desk.glob("*.json") if path.stem in line), None)
with (desk / "log.jsonl").open("a") as log:
    log.write(json.dumps([Path(sys.argv[0]).name, *sys.argv[1:]]) + "\\n")
if serial is None or (desk / (serial + ".unplugged")).exists():
    print("Error: open failed")
    sys.exit(1)
path = desk / (serial + ".json")
part = json.loads(path.read_text())
for address, word in re.findall(r"mww (0x\\w+) (0x\\w+)", line):
    part["words"] |= {{}} if part["ignores_writes"] else {{address: int(word, 16)}}
    path.write_text(json.dumps(part))
addresses = re.findall(r"(?:mdw|read32|-r32) (0x\\w+)", line)
for address in addresses:
    if address in part["words"]:
        print(f"{{address}}: {{part['words'][address]:08x}}")
if part["unplug_after"] == ("read" if addresses else "flash"):
    (desk / (serial + ".unplugged")).touch()
if addresses:
    sys.exit(0)
if part["hangs"]:
    time.sleep(60)
print(part["prints"])
elf = re.search(r"\\S+firmware.elf", line)
if part["exit_code"] == 0 and elf:
    elf = elf[0]
    image = desk / (serial + ".image")
    runs = Path(elf).with_suffix(".runs")
    image.with_suffix(".new").write_text(runs.read_text() if runs.exists() else json.dumps(elf))
    image.with_suffix(".new").rename(image)
sys.exit(part["exit_code"])
"""

Answers = Callable[[bytes, str], bytes]  # from what the host has sent and what the board runs, to what it answers


@dataclass
class Desk:
    """Two boards, the project for them in `out`, and what was done to them."""

    folder: Path
    out: Path
    rig: Path
    project: Project

    def set(self, serial: str, **values: Any) -> None:  # noqa: ANN401
        path = self.folder / f"{serial}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    def runs(self, serial: str, project_hash: int | None, index: int = 0) -> None:
        """Let a board run an image of that hash, or none."""
        text = "" if project_hash is None else json.dumps([project_hash, index])
        (self.folder / f"{serial}.image").write_text(text)

    @property
    def calls(self) -> list[list[str]]:
        log = self.folder / "log.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def flashed(self) -> list[str]:
        """Serial numbers of the boards that were programmed, sorted."""
        return sorted(
            s for s in SERIALS for call in self.calls if s in " ".join(call) and "write_image" in " ".join(call)
        )


@contextmanager
def desk_in(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_board: Callable[[], Answers] | None = None,
    built: tuple[Project, Path] | None = None,
) -> Iterator[Desk]:
    """Put two boards that run something else on a desk, with an OpenOCD that is nothing but a script."""
    (folder / "bin").mkdir(parents=True)
    path = folder / "bin" / "openocd"
    path.write_text(_PROGRAMMER.format(python=sys.executable, desk=str(folder)))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    project, out = built or build_nothing(folder / "out")
    desk = Desk(folder, out, folder / "rig.toml", project)
    words = {"0x40015800": IDCODE, "0x40022020": OPTIONS, "0x40022000": ACR}
    part = {
        "words": words,
        "ignores_writes": False,
        "unplug_after": None,
        "hangs": False,
        "prints": "",
        "exit_code": 0,
    }
    for serial in SERIALS:
        (folder / f"{serial}.json").write_text(json.dumps(part))
        desk.runs(serial, OTHER_HASH if make_board is None else None)
    with ExitStack() as stack:
        ports = [
            stack.enter_context(_board_on_pty(folder, serial, (make_board or FakeAnswers)())) for serial in SERIALS
        ]
        desk.rig.write_text(
            "".join(f'[[board]]\nserial_number = "{s}"\nport = "{p}"\n' for s, p in zip(SERIALS, ports, strict=True))
        )
        yield desk


def build_nothing(out: Path) -> tuple[Project, Path]:
    """Write a project whose programs are good for nothing but to be flashed."""
    project = make_project()
    out.mkdir()
    project.write(out)
    elf = build(out.parent / "elf", load_board("nucleo_g071rb"), assembler("nop") + CHECKSUM).read_bytes()
    for board in project.boards:
        path = board.elf(out)
        path.parent.mkdir(parents=True)
        path.write_bytes(elf)
        path.with_suffix(".runs").write_text(json.dumps([HASH, board.number - 1]))
    return project, out


class FakeAnswers:
    """A board that answers with the hash and the index that its image has."""

    def __init__(self) -> None:
        self._decoder = FrameDecoder()

    def __call__(self, data: bytes, image: str) -> bytes:
        return b"".join(_reply(each, *json.loads(image)).encode() for each in self._decoder.feed(data) if image)


class Foreign:
    """A board that answers every request with the same bytes, which are no frames."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def __call__(self, data: bytes, image: str) -> bytes:
        del image
        return self._answer if data else b""


class OtherBaud(FakeAnswers):
    """A board whose baud rate is not the host's: both read other bytes than those that were sent."""

    def __call__(self, data: bytes, image: str) -> bytes:
        return bytes(map(misread, super().__call__(data, image) or data))


def _reply(frame: Frame, project_hash: int, index: int) -> Frame:
    payload = make_identity(index, 300, 300, project_hash).pack() if frame.type == MessageType.IDENTIFY else b""
    return Frame(frame.type | REPLY_BIT, frame.sequence, payload)


@contextmanager
def _board_on_pty(folder: Path, serial: str, answers: Answers) -> Iterator[str]:
    """Serve a board until the block ends, or the board is unplugged."""
    host, board = pty.openpty()
    tty.setraw(board, termios.TCSANOW)
    os.set_blocking(host, False)
    ended = threading.Event()
    thread = threading.Thread(target=_serve, args=(folder, serial, host, ended, answers))
    thread.start()
    try:
        yield os.ttyname(board)
    finally:
        ended.set()
        thread.join()
        os.close(board)


def _serve(folder: Path, serial: str, host: int, ended: threading.Event, answers: Answers) -> None:
    while not ended.is_set() and not (folder / f"{serial}.unplugged").exists():
        data = os.read(host, 4096) if select.select([host], [], [], LOOK_S)[0] else b""
        if answer := answers(data, (folder / f"{serial}.image").read_text()):
            os.write(host, answer)
    os.close(host)
