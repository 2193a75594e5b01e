"""The table of mutants fits the tree: each old text occurs once in its file, and each named test exists."""

import subprocess
import sys
from pathlib import Path

import pytest

from session.mutation import ROOT, Mutant, read_mutants

MUTANTS = read_mutants()


def test_names_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_tree(mutant: Mutant) -> None:
    path = ROOT / mutant.file
    assert path.is_file(), f"{mutant.file} is not there any more: update tests/mutants.toml"
    assert path.read_text(encoding="utf-8").count(mutant.old) == 1
    assert mutant.new != mutant.old
    assert mutant.tests
    for test in mutant.tests:
        file, _, function = test.partition("::")
        assert f"def {function.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8")


def test_a_mutant_whose_text_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("a = 1\na = 1\n")
    for old in ("a = 1", "b = 1"):
        with pytest.raises(ValueError, match=r"one\.py has the old text \d times, not once"):
            Mutant("m", "one.py", old, "a = 2", ()).apply(tmp_path)
    assert (tmp_path / "one.py").read_text() == "a = 1\na = 1\n"


@pytest.mark.nightly
@pytest.mark.timeout(0)
def test_every_mutant_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "mutants")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
