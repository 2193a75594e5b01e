"""Signals at random moments of all commands, and what they leave behind.

PYTHONPATH=generator:hil:tests/support python tests/support/commands/random_interrupts.py [COUNT [SEED [STAGE ...]]]
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import pytest

from rigs.bench import SERIALS, desk_in
from tinysplit.common.errors import InputError
from tinysplit.common.output_folder import check_output_folder

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "tiny_cnn"
MODEL, WIDE, SAMPLES = EXAMPLE / "tiny_cnn.onnx", EXAMPLE / "wide_cnn.onnx", EXAMPLE / "calibration.npz"
TWO_G0 = ("-b", "nucleo_g071rb", "-b", "nucleo_g071rb")
MARK = "TINYSPLIT_INTERRUPTED"  # environment variable of a command and of all that it starts
PATIENCE_S = 120.0
LIMIT_S = 2.0  # within which a command is to end; only the script looks at it
_LOOK_S = 0.005
_LONGEST_S = 8.0  # before the first signal
SERVED = "Ctrl-C stops the boards"  # from then on `virtual` ends as it is to: with 0
# A process inherits an ignored SIGINT, as from a background job of a shell.
_PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tinysplit.__main__ import main
main()
"""
COMMAND = (sys.executable, "-c", _PROGRAM)


@dataclass(frozen=True)
class Trial:
    """What a command did after a signal: `late_s` is the time until it had ended, `wrong` what it should not have."""

    stage: str
    number: signal.Signals
    delay_s: float
    exit_code: int
    late_s: float
    wrong: tuple[str, ...]


@dataclass
class Stages:
    """All commands by their names, with OUT for a name that is new, and how long each of them takes in seconds."""

    folder: Path
    commands: dict[str, tuple[str, ...]]
    lasts_s: dict[str, float] = field(default_factory=dict)

    @classmethod
    def lay_out(cls, folder: Path, monkeypatch: pytest.MonkeyPatch, desk: Path, rig: Path) -> Self:
        """Make in `folder` what the commands need. `desk` is a project for the boards of `rig`."""
        monkeypatch.setenv("COLUMNS", "200")
        made, unbuilt, split = folder / "made", folder / "unbuilt", folder / "split.json"
        _run("split", MODEL, *TWO_G0, "-o", split)
        _run("generate", MODEL, "--split", split, "-s", SAMPLES, "-o", made)
        shutil.copytree(made, unbuilt)
        _run("build", made)
        _run("measure", made, "-s", SAMPLES, "--sample-count", "2")
        commands = {
            "analyze": ("analyze", WIDE),
            "split": ("split", MODEL, *TWO_G0, "-o", "OUT"),
            "quantize": ("quantize", WIDE, "-s", SAMPLES, "--bits", "auto"),
            "generate": ("generate", MODEL, "--split", split, "-s", SAMPLES, "-o", "OUT"),
            "build": ("build", unbuilt),
            "library": ("library", made, "-o", "OUT"),
            "validate": ("validate", made, "-s", SAMPLES),
            "measure": ("measure", made, "-s", SAMPLES),
            "run": ("run", MODEL, *TWO_G0, "-s", SAMPLES, "-o", "OUT"),
            "explore": ("explore", MODEL, "-b", "all", "--max-boards", "3", "--workers", "2", "-j", "OUT"),
            "wiring": ("wiring", *TWO_G0, "-o", "OUT", "--folder", "OUT.test"),
            "report": ("report", made),
            "virtual": ("virtual", made, "-o", "OUT"),
            "flash": ("flash", desk, "--rig", rig),
        }
        return cls(folder, {name: tuple(map(str, each)) for name, each in commands.items()})

    def try_one(self, stage: str, number: signal.Signals, part: float, *, twice: bool, to_group: bool) -> Trial | None:
        """Send a signal after a part of the time that a command takes; None if it ends before."""
        if stage not in self.lasts_s:
            self.lasts_s[stage] = self._lasts_s(stage)
        delay_s = min(_LONGEST_S, self.lasts_s[stage] * part)
        with _Running(self.folder, self.commands[stage]) as running:
            running.wait_until_ready()
            time.sleep(delay_s)
            if running.process.poll() is not None:
                return None
            begin_s = time.monotonic()
            running.send(number, to_group=to_group)
            if twice:
                time.sleep(_LOOK_S)
                running.send(number, to_group=to_group)
            code = running.process.wait(PATIENCE_S)
            late_s = time.monotonic() - begin_s
            return Trial(stage, number, delay_s, code, late_s, tuple(running.wrong(stage, number, code)))

    def _lasts_s(self, stage: str) -> float:
        """Return the time that a command takes, at most until it does nothing new."""
        with _Running(self.folder, self.commands[stage]) as running:
            running.wait_until_ready()
            begin_s = time.monotonic()
            with suppress(subprocess.TimeoutExpired):
                running.process.wait(_LONGEST_S)
            return time.monotonic() - begin_s


class _Running:
    """A command that runs, with temporary folders of its own."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self._temporary = TemporaryDirectory(dir=folder)
        self._folder = Path(self._temporary.name)
        self.out, self._messages = self._folder / "work" / "out", self._folder / "messages"
        self._own = self._folder / "tmp"
        for each in (self.out.parent, self._own):
            each.mkdir()
        self._mark = f"{time.monotonic_ns()}"
        sources = os.pathsep.join(str(ROOT / each) for each in ("generator", "hil"))
        environment = {**os.environ, MARK: self._mark, "TMPDIR": str(self._own), "PYTHONPATH": sources}
        with self._messages.open("wb") as messages:
            self.process = subprocess.Popen(
                [*COMMAND, *(each.replace("OUT", str(self.out)) for each in arguments)],
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                env=environment,
                cwd=self._own,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number in (self.process.pid, *self._left()):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()
        self._temporary.cleanup()

    def wait_until_ready(self) -> None:
        """Wait until the command, and no longer the interpreter, handles signals (proc(5): SigCgt)."""
        end_s = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end_s:
            for line in Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith("SigCgt:") and int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
                    return
            time.sleep(_LOOK_S)
        raise AssertionError(self._messages.read_text(encoding="utf-8"))

    def send(self, number: signal.Signals, *, to_group: bool) -> None:
        with suppress(ProcessLookupError):
            (os.killpg if to_group else os.kill)(self.process.pid, number)

    def wrong(self, stage: str, number: signal.Signals, code: int) -> Iterator[str]:
        """Yield what is not as it has to be after a signal."""
        said = self._messages.read_text(encoding="utf-8", errors="replace")
        expected = 0 if stage == "virtual" and SERVED in said else 128 + number
        if code != expected:
            yield f"exit code {code}, not {expected}: {said[-300:]}"
        if "Traceback" in said or "Exception ignored" in said:
            yield said[-1500:]
        end_s = time.monotonic() + LIMIT_S  # by which processes that were ended have gone
        while (left := list(self._left())) and time.monotonic() < end_s:
            time.sleep(_LOOK_S)
        if left:
            yield f"processes left: {left}"
        if files := [str(path) for path in self._folder.rglob(".tinysplit-*")]:
            yield f"left behind: {files}"
        if own := [path.name for path in self._own.iterdir() if path.name != f"tinysplit-{os.getuid()}"]:
            yield f"left in the temporary folder: {own}"
        if self.out.is_dir():
            try:
                check_output_folder(self.out)
            except InputError as error:
                yield str(error)
        if stage == "virtual" and self.out.exists():
            yield "the rig file is still there"

    def _left(self) -> Iterator[int]:
        """Yield the processes that the command has started, and that still run."""
        for path in Path("/proc").glob("[0-9]*/environ"):
            number = int(path.parent.name)
            with suppress(OSError):
                state = (path.parent / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
                if f"{MARK}={self._mark}\0".encode() in path.read_bytes() and state != "Z":
                    yield number


def _run(*arguments: object) -> None:
    subprocess.run([*COMMAND, *map(str, arguments)], check=True, capture_output=True)


def trials(count: int, seed: int, folder: Path, stages: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield `count` trials: each command in turn (or of those named), its moment, signal and receivers at random."""
    choose = random.Random(seed)  # noqa: S311 (no secret)
    with pytest.MonkeyPatch.context() as monkeypatch, desk_in(folder / "desk", monkeypatch) as desk:
        for serial in SERIALS:
            desk.set(serial, hangs=True)
        laid = Stages.lay_out(folder, monkeypatch, desk.out, desk.rig)
        names = list(stages) or choose.sample(list(laid.commands), len(laid.commands))
        done = 0
        while done < count:
            number = choose.choices([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], [8, 1, 1])[0]
            options = {"twice": choose.random() < 0.25, "to_group": choose.random() < 0.5}
            if trial := laid.try_one(names[done % len(names)], number, choose.random(), **options):
                done += 1
                yield trial


def main() -> None:
    """Print each trial, and how many went right within LIMIT_S."""
    count, seed = (int(each) for each in (sys.argv[1:3] + ["200", "0"][len(sys.argv) - 1 :])[:2])
    good, slowest_s = 0, 0.0
    with TemporaryDirectory() as folder:
        for trial in trials(count, seed, Path(folder), sys.argv[3:]):
            is_good = not trial.wrong and trial.late_s <= LIMIT_S
            good, slowest_s = good + is_good, max(slowest_s, trial.late_s)
            sys.stdout.write(f"{'right' if is_good else 'WRONG'} {trial}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{good} of {count} right; the slowest ended after {slowest_s:.2f} s\n")


if __name__ == "__main__":
    main()
