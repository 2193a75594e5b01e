"""Signals at random moments of all commands. `tests/support/random_interrupts.py` tries as many as it is asked to."""

from pathlib import Path

import pytest

from profiles import cases
from random_interrupts import trials


@pytest.mark.slow
def test_signals_at_random_moments_end_commands_cleanly(tmp_path: Path) -> None:
    wrong = [trial for trial in trials(cases(quick=1, full=8, nightly=200), 1, tmp_path) if trial.wrong]
    assert not wrong
