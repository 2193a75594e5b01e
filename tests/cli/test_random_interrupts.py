"""Signals at random moments of all commands. `tests/support/commands/random_interrupts.py` tries as many as asked.

The moments differ from run to run, so the test is one of the nightly ones; `tests/common/test_interrupts.py` has
signals at given places.
"""

from pathlib import Path

import pytest

from commands.random_interrupts import trials

TRIALS, SEED = 200, 1


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_signals_at_random_moments_end_commands_cleanly(tmp_path: Path) -> None:
    wrong = [trial for trial in trials(TRIALS, SEED, tmp_path) if trial.wrong]
    assert not wrong
