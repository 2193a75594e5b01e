"""Every command that gives times says whose are less sure: in its tables, in JSON and in the report."""

import json
from pathlib import Path

import pytest

from commands.command_line import run
from example_folders.example import MODEL, SAMPLES

SURE, LESS_SURE = "nucleo_g071rb", "nucleo_u575zi_q"


def said(boards: tuple[str, ...], *command: str) -> list[str]:
    given = (each for name in boards for each in ("--board", name))
    found: list[str] = json.loads(run(*command, *given, "--json"))["less_sure"]
    return found


@pytest.mark.parametrize("boards", [(SURE,), (LESS_SURE,), (SURE, LESS_SURE)])
def test_estimates(boards: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    split = tmp_path / "split.json"
    found = [
        said(boards, "split", str(MODEL), "-o", str(split)),
        said(boards, "pareto", str(MODEL), "--second-objective", "throughput"),
        said(boards, "explore", str(MODEL)),
        said((), "arrivals", str(MODEL), "--split", str(split), "--frame-rate", "2"),
    ]
    reason = f"times and energies of {LESS_SURE} are less sure: "
    for notes in found:
        assert [note.partition("Cortex-M33")[0] for note in notes] == [reason] * (LESS_SURE in boards)


def test_boards() -> None:
    listed = {each["name"]: each["less_sure"] for each in json.loads(run("boards", "--json"))["boards"]}
    assert {name for name, notes in listed.items() if notes} == {LESS_SURE, "nucleo_h563zi", "nucleo_l552ze_q"}


def test_published_costs_are_nobodys_model(tmp_path: Path) -> None:
    assert said(("nucleo_l4r5zi",), "split", str(MODEL), "--paper", "-o", str(tmp_path / "split.json")) == []


@pytest.mark.slow
def test_a_measurement_and_its_report(tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "report.html"
    (note,) = said((LESS_SURE,), "run", str(MODEL), "-s", str(SAMPLES), "-o", str(out))
    assert f"note: {note}" in run("measure", str(out), "-s", str(SAMPLES))
    assert json.loads(run("report", str(out), "-o", str(page), "--json"))["less_sure"] == [note]
    assert f"Note: {note}." in page.read_text(encoding="utf-8")
