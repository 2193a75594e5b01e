"""Changes of one line that a test has to notice (mutants): read from a table, applied to a copy of the tree, judged."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue

from session import profiles

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "tests" / "mutants.toml"
SECONDS_PER_TEST = 300
PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--timeout={SECONDS_PER_TEST}")
# Bytecode that is compared with its source by content: a changed file of the same size and second is compiled again.
COMPILE = (sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "generator", "hil")
PASSED, FAILED = 0, 1  # exit codes of pytest; others mean that tests are missing or cannot be imported


@dataclass(frozen=True)
class Mutant:
    """One change: `old` occurs once in `file` and becomes `new`; at least one of `tests` has to fail then."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, tree: Path) -> str:
        """Change the file in `tree` and return its text before. Raises ValueError when `old` does not occur once."""
        path = tree / self.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: {self.file} has the old text {count} times, not once")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return text


class Outcome(StrEnum):
    """What the tests say about a mutant."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    STALE = "STALE"  # the old text is not there any more
    BROKEN = "BROKEN"  # the tests are not there, or end otherwise than by passing or failing


@dataclass(frozen=True)
class Verdict:
    """A mutant with its outcome; `detail` says more about what is not killed."""

    mutant: Mutant
    outcome: Outcome
    seconds: float
    detail: str = ""


def read_mutants(table: Path = TABLE) -> tuple[Mutant, ...]:
    """Read the table of mutants."""
    entries = tomllib.loads(table.read_text(encoding="utf-8"))["mutant"]
    return tuple(Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries)


def judge_all(mutants: Sequence[Mutant], jobs: int, on_verdict: Callable[[Verdict], None]) -> list[Verdict]:
    """Judge every mutant in a copy of the tree, `jobs` at a time.

    Raises RuntimeError when tests fail that nothing was changed for: a mutant that they notice would prove nothing.
    """
    with ExitStack() as stack:
        trees: SimpleQueue[Path] = SimpleQueue()
        for _ in range(jobs):
            trees.put(stack.enter_context(_copy_of_tree()))

        def judge_next(mutant: Mutant) -> Verdict:
            tree = trees.get()
            try:
                verdict = judge(mutant, tree)
            finally:
                trees.put(tree)
            on_verdict(verdict)
            return verdict

        _check_unchanged(mutants, trees)
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(judge_next, mutants))


def judge(mutant: Mutant, tree: Path) -> Verdict:
    """Run the tests of a mutant in `tree`, which is restored afterwards."""
    started = time.monotonic()
    try:
        before = mutant.apply(tree)
    except ValueError as error:
        return Verdict(mutant, Outcome.STALE, 0.0, str(error))
    try:
        status, output = _run_tests(mutant.tests, tree)
    finally:
        (tree / mutant.file).write_text(before, encoding="utf-8")
    outcomes = {PASSED: Outcome.SURVIVED, FAILED: Outcome.KILLED}
    outcome = outcomes.get(status, Outcome.BROKEN)
    return Verdict(mutant, outcome, time.monotonic() - started, "" if outcome is Outcome.KILLED else output)


def _check_unchanged(mutants: Sequence[Mutant], trees: "SimpleQueue[Path]") -> None:
    tree = trees.get()
    status, output = _run_tests(sorted({test for mutant in mutants for test in mutant.tests}), tree)
    trees.put(tree)
    if status != PASSED:
        raise RuntimeError(f"tests fail without any change:\n{output}")


def _run_tests(tests: Sequence[str], tree: Path) -> tuple[int, str]:
    """Return pytest's exit code and the end of what it printed."""
    # In the profile that has all named tests, whatever the profile of the process that asks.
    folders = [str(tree / "generator"), str(tree / "hil"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "PYTHONDONTWRITEBYTECODE": "1",
        profiles.VARIABLE: profiles.Profile.FULL,
    }
    done = subprocess.run([*PYTEST, *tests], cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, "\n".join((done.stdout + done.stderr).splitlines()[-15:])


@contextmanager
def _copy_of_tree() -> Iterator[Path]:
    """Yield a copy of what git knows or would add, so that the checkout itself never changes."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    with tempfile.TemporaryDirectory(prefix="tinysplit-mutants-") as folder:
        tree = Path(folder) / "tree"
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        subprocess.run(COMPILE, cwd=tree, check=True)
        yield tree
