"""What is said of the energy of an inference."""

from io import StringIO

from rich.console import Console

from rigs.fake_rig import make_project
from tinysplit.project.activity import BoardActivity
from tinysplit_hil.measure.energy_report import NOTE, TOO_SHORT, Energy, print_energy

ESTIMATED = (BoardActivity(board=1, run_s=0.02, sleep_s=0.01),)


def printed(energy: Energy) -> str:
    text = StringIO()
    print_energy([("in a stream", energy)], Console(file=text, width=120))
    return text.getvalue()


def test_energy_that_was_not_measured_says_why() -> None:
    energy = Energy(make_project(), ESTIMATED, (), TOO_SHORT.format(5))
    assert energy.to_json()["measured"] is None
    assert energy.to_json()["measured_note"] == TOO_SHORT.format(5)
    assert "5 samples are too few" in printed(energy)
    assert NOTE not in printed(energy)


def test_measured_energy_says_what_it_proves() -> None:
    energy = Energy(make_project(), ESTIMATED, ESTIMATED)
    assert energy.to_json()["measured_note"] == NOTE
    assert NOTE in printed(energy)
