"""A parser under test, and a run of it on mutated inputs."""

import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fuzzing.mutator import Change, Mutator, read_corpus
from tinysplit.common.errors import InputError

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "python"
LONGEST_S = 20.0  # of processor time for an input: what no parser needs on any machine
MOST_BYTES = 4 << 30  # of memory beyond what the process has before


class FindingError(AssertionError):
    """An input that a parser does not survive."""


@dataclass(frozen=True)
class Target:
    """A parser: `parse` may raise `errors` only, with messages of one line; it has inputs beside its corpus file."""

    name: str
    parse: Callable[[bytes], object]
    make_seeds: Callable[[], Sequence[bytes]] = list
    errors: tuple[type[Exception], ...] = (InputError,)
    changes: tuple[Change, ...] = ()

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        """Inputs that are made."""
        return self.make_seeds()

    @cached_property
    def corpus(self) -> Sequence[bytes]:
        """All inputs from which others are made: the seeds, and those of the corpus file."""
        return [*self.seeds, *read_corpus(CORPUS / f"{self.name}.txt")]

    def accepts(self, content: bytes) -> bool:
        """Return whether the parser takes an input. Raises FindingError where it neither takes nor refuses it."""
        try:
            self.parse(content)
        except self.errors as error:
            if not str(error).isprintable():
                raise FindingError(f"a message of several lines, or with control characters: {str(error)!r}") from error
            return False
        return True


@dataclass
class Run:
    """What a run of a target has come to, in processor time; `findings` by the place where they came up."""

    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)


def run(target: Target, n_inputs: int, seed: int = 1) -> Run:
    """Feed a parser with its corpus and with inputs made of it."""
    corpus = target.corpus
    mutator = Mutator(seed, corpus, target.changes, len(target.seeds))
    done = Run()
    begin_s = time.process_time()
    with _limits():
        for index in range(n_inputs):
            content = corpus[index] if index < len(corpus) else mutator.next()
            before_s = time.process_time()
            _feed(target, content, done)
            done.slowest_s = max(done.slowest_s, time.process_time() - before_s)
    done.seconds = time.process_time() - begin_s
    return done


def _feed(target: Target, content: bytes, done: Run) -> None:
    done.inputs += 1
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        done.accepted += target.accepts(content)
    except Exception as error:  # noqa: BLE001 - whatever comes out is a finding
        place = "".join(traceback.format_tb(error.__traceback__)[-1:])
        lines = "".join(traceback.format_exception(error)[-12:])
        done.findings.setdefault(f"{type(error).__name__} {place}", f"{target.name}: {lines}input: {content!r}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def _limits() -> Iterator[None]:
    """Let inputs that take too much time or memory, or cause warnings, raise errors."""

    def stop(*_: object) -> None:
        raise FindingError(f"more than {LONGEST_S:g} s of processor time")

    handler = signal.signal(signal.SIGPROF, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_BYTES, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, handler)
