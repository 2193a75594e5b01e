"""Libraries of a split network as processes on this computer, with lines between them that lose and damage bytes."""

import os
import random
import re
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tinysplit.codegen.library import write_library
from tinysplit.common import package_files
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.project.manifest import Project

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
POSIX = Path("ports/posix/tinysplit_posix.c")
EXAMPLE = package_files.firmware() / "library" / "ports" / "posix" / "example" / "main.c"
TIME_LIMIT_S = 60
POLL_S = 1.0
_LINK = re.compile(r"Link (\d+): to board (\d+) at")
_CHUNK = 4096


def compile_libraries(project: Project, folder: Path, out: Path, *mains: Path) -> None:
    """Compile `out`/<stem of main><number> for each board: its library, the POSIX port, and each program of `mains`."""
    write_library(project, folder, out / "library")
    for number in project.copies[0]:
        library = out / "library" / project.board(number).directory
        sources = [*sorted(path.name for path in library.glob("*.c")), str(POSIX)]
        for source in (*sources, *map(str, mains)):  # each on its own, for ccache
            _gcc("-I.", f"-I{POSIX.parent}", "-c", source, folder=library)
        for main in mains:
            objects = [f"{Path(source).stem}.o" for source in (*sources, str(main))]
            _gcc(*objects, "-o", program(out, main, number), folder=library)


def program(out: Path, main: Path, number: int) -> Path:
    """Return where `compile_libraries` puts the program of a board."""
    return out / f"{main.stem}{number}"


def _gcc(*arguments: object, folder: Path) -> None:
    subprocess.run(["gcc", *WARNINGS, *SANITIZED, *map(str, arguments)], cwd=folder, check=True)


def links_of(library: Path) -> list[int]:
    """Return the boards at the other ends of a library's links, in their order."""
    found = _LINK.findall((library / "tinysplit.h").read_text())
    assert [int(index) for index, _ in found] == list(range(len(found)))
    return [int(peer) for _, peer in found]


@dataclass
class Line:
    """Chances of each byte to be lost or changed, of all lines of a rig; `is_cut`: nothing passes."""

    loss: float = 0.0
    damage: float = 0.0
    is_cut: bool = False

    def passed(self, data: bytes, numbers: random.Random) -> bytes:
        """Return what arrives of some bytes."""
        if self.is_cut:
            return b""
        if not self.loss and not self.damage:
            return data
        kept = bytearray()
        for byte in data:
            chance = numbers.random()
            if chance >= self.loss:
                kept.append(byte ^ 1 << numbers.randrange(8) if chance < self.loss + self.damage else byte)
        return bytes(kept)


@dataclass
class Boards:
    """Processes that run: one a board, by its number."""

    programs: dict[int, Path]
    line: Line
    ends: dict[int, list[socket.socket]]  # of each board: those that its process has, in the order of its links
    input_board: int
    output_board: int
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, number: int) -> None:
        """Start the process of a board, again where it was stopped."""
        files = [end.fileno() for end in self.ends[number]]
        self.processes[number] = subprocess.Popen(
            [str(self.programs[number]), *map(str, files)],
            stdin=subprocess.PIPE if number == self.input_board else subprocess.DEVNULL,
            stdout=subprocess.PIPE if number == self.output_board else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=files,
        )

    def kill(self) -> None:
        """Stop all processes that a failed test has left, and print what they have said."""
        for number in list(self.processes):
            sys.stderr.write(self._end(number))

    def _end(self, number: int) -> str:
        process = self.processes.pop(number)
        process.kill()
        for file in (process.stdin, process.stdout):
            if file:
                file.close()
        assert process.stderr is not None
        text = process.stderr.read().decode()
        process.stderr.close()
        process.wait()
        return text

    def stop(self, number: int) -> str:
        """Stop the process of a board; return what it has said of failures."""
        text = self._end(number)
        assert "Sanitizer" not in text, text
        assert "runtime error" not in text, text
        return text

    def give(self, x: IntArray) -> None:
        """Give inputs to the board that reads them."""
        file = self.processes[self.input_board].stdin
        assert file is not None
        file.write(x.tobytes())
        file.flush()

    def take(self, size: int, dtype: np.dtype[np.signedinteger], within_s: float = TIME_LIMIT_S) -> IntArray | None:
        """Return the next output of so many integers; None where none comes in time."""
        file = self.processes[self.output_board].stdout
        assert file is not None
        wanted, data = size * dtype.itemsize, b""
        with selectors.DefaultSelector() as selector:
            selector.register(file, selectors.EVENT_READ)
            while len(data) < wanted:
                if not self._has_come(selector, within_s):
                    return None
                part = os.read(file.fileno(), wanted - len(data))
                assert part, "the process has ended"
                data += part
        return np.frombuffer(data, dtype)

    def _has_come(self, selector: selectors.BaseSelector, within_s: float) -> bool:
        """Wait for output, no longer than all processes live."""
        end_s = time.monotonic() + within_s
        while not selector.select(min(within_s, POLL_S)):
            ended = [number for number, process in self.processes.items() if process.poll() is not None]
            assert not ended, f"the processes of boards {ended} have ended"
            if time.monotonic() >= end_s:
                return False
        return True


def _forward(pairs: Sequence[tuple[socket.socket, socket.socket]], line: Line, seed: int, end: threading.Event) -> None:
    """Pass bytes between the ends of each pair, until `end`."""
    numbers = random.Random(seed)  # noqa: S311 (no secret)
    with selectors.DefaultSelector() as selector:
        for first, second in pairs:
            selector.register(first, selectors.EVENT_READ, second)
            selector.register(second, selectors.EVENT_READ, first)
        while not end.is_set():
            for key, _ in selector.select(0.05):
                data = line.passed(os.read(key.fd, _CHUNK), numbers)
                if data:
                    key.data.sendall(data)


@contextmanager
def running(
    project: Project, programs: dict[int, Path], line: Line | None = None, seed: int = 0, *, starts: bool = True
) -> Iterator[Boards]:
    """Run the programs of the boards, with a line for each link; all end at the end."""
    line, pairs, end = line or Line(), [], threading.Event()
    pipeline = project.pipelines[0]
    ends: dict[tuple[int, int], socket.socket] = {}
    for link in project.links:
        halves = [socket.socketpair() for _ in link.boards]
        pairs.append((halves[0][1], halves[1][1]))
        for (own, _), board, peer in zip(halves, link.boards, reversed(link.boards), strict=True):
            ends[board, peer] = own
    libraries = {number: path.parent / "library" / project.board(number).directory for number, path in programs.items()}
    of_boards = {number: [ends[number, peer] for peer in links_of(libraries[number])] for number in programs}
    boards = Boards(programs, line, of_boards, pipeline.input_boards[0], pipeline.output_board)
    thread = threading.Thread(target=_forward, args=(pairs, line, seed, end))
    thread.start()
    try:
        for number in programs if starts else ():
            boards.start(number)
        yield boards
        for number in list(boards.processes):
            boards.stop(number)
    finally:
        boards.kill()
        end.set()
        thread.join()
        for each in (*ends.values(), *(own for pair in pairs for own in pair)):
            each.close()
