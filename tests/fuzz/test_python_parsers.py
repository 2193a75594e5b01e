"""The Python code that reads what boards, people and files send: mutated inputs raise the documented errors only.

`./run test tests/fuzz --profile nightly` tries 100 000 inputs each, and `.venv/bin/python tests/support/fuzz.py` prints
a table of them. Inputs are the same for the same seed; a failure prints the one that caused it.
"""

import ast
from pathlib import Path

import pytest

from fuzzing.all_targets import all_targets
from fuzzing.mutator import Mutator, read_corpus
from fuzzing.target import CORPUS, FindingError, Target, run
from session.profiles import cases
from tinysplit.common.errors import InputError

N_INPUTS = cases(quick=50, full=250, nightly=100_000)
TARGETS = all_targets()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", TARGETS)
def test_parsers_survive_any_input(name: str) -> None:
    done = run(TARGETS[name], N_INPUTS)
    assert not done.findings, "\n".join(done.findings.values())
    assert done.accepted, "the parser takes no input of its corpus: make it anew"


def test_corpora_belong_to_parsers() -> None:
    assert {path.stem for path in CORPUS.glob("*.txt")} <= set(TARGETS)


def test_inputs_are_those_of_the_seed() -> None:
    first, again, other = (Mutator(seed, [b"a = 1\nb = 2\n", b"{}"]) for seed in (1, 1, 2))
    inputs = [first.next() for _ in range(100)]
    assert inputs == [again.next() for _ in range(100)]
    assert inputs != [other.next() for _ in range(100)]


def test_corpus_files_have_an_input_on_each_line(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    inputs = [b"", b"a\nb", bytes(range(256))]
    path.write_text("".join(["# comment\n", *(f"{each!r}\n" for each in inputs)]))
    assert read_corpus(path) == inputs


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no documented error"), "ValueError: no documented error"),
        (InputError("one line"), None),
        (FindingError("more than"), "FindingError: more than"),
    ],
)
def test_findings(error: Exception, message: str | None) -> None:
    """The check of the checks: only a documented error is none, and a finding has its input."""

    def parse(content: bytes) -> None:
        if content != b"good":
            raise error

    found = list(run(Target("broken", parse, lambda: [b"good"]), 50).findings.values())
    if message is None:
        assert not found
    else:
        assert len(found) == 1
        assert message in found[0]
        assert ast.literal_eval(found[0].rpartition("input: ")[2]) != b"good"
