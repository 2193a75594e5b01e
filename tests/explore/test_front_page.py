"""Fronts and rankings as HTML files."""

import json
import re
from pathlib import Path

import pytest

from commands.browser import page_in_browser
from commands.command_line import BAD_INPUT, run
from example_folders.example import MODEL
from tinysplit.explore.report.page import exploration_page
from tinysplit.split.report.front_page import front_page

BOARDS = ("--board", "nucleo_g071rb", "--board", "nucleo_l452re")
POINT = {
    "latency_s": 0.002,
    "energy_j": 0.001,
    "period_s": 0.003,
    "placement": "layers 1-2 on board 1, 3 on board 2",
    "proved": True,
}


def data_of(page: str) -> dict[str, list[dict[str, object]]]:
    """Return what the scripts of a page read."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, list[dict[str, object]]] = json.loads(found)
    return data


def test_points_have_boards_assignment_and_values() -> None:
    page = front_page("net </script>", {"against": "energy", "boards": ["a", "b"], "points": [POINT]})
    assert "<h1>net &lt;/script&gt;</h1>" in page
    (front,) = data_of(page)["fronts"]
    labels = {"boards": "a + b", "placement": "layers 1-2 on board 1, 3 on board 2", "baud": "-", "proved": "yes"}
    values = {"latency_s": 0.002, "energy_j": 0.001, "period_s": 0.003, "power_w": None, "price": None}
    assert front == {"title": "a + b", "points": [{"labels": labels, "values": values}]}


def test_copies_are_named() -> None:
    page = front_page(
        "net",
        {"against": "energy", "boards": ["a", "b"], "points": [{**POINT, "placement": "copies on boards 1 and 2"}]},
    )
    assert "copies on boards 1 and 2" in page


def test_names_cannot_end_the_data() -> None:
    point = {**POINT, "boards": ["</script>", "b"], "price": 2.0, "power_w": 0.1, "baud": 9600}
    groups = [{"model": {"name": "net"}, "bits": 8, "best": [point]}]
    (front,) = data_of(exploration_page({"objective": "latency", "rankings": groups}))["fronts"]
    assert front["title"] == "net, 8 bits"
    assert json.dumps(front).count("</script> + b") == 1


def test_the_commands_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.html"
    mine.write_text("mine")
    front = ("pareto", str(MODEL), *BOARDS, "--second-objective", "energy")
    assert "was not written by tinysplit" in run(*front, "--html", "mine.html", expect=BAD_INPUT)
    points = json.loads(run(*front, "--html", "mine.html", "--force", "--json"))["points"]
    (drawn,) = data_of(mine.read_text(encoding="utf-8"))["fronts"]
    assert isinstance(drawn["points"], list)
    assert len(drawn["points"]) == len(points)


@pytest.mark.slow
def test_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    axes = ("--axis", "latency", "--axis", "price", "--axis", "energy")
    explored = json.loads(
        run("explore", str(MODEL), *BOARDS, *axes, "--html", "front.html", "--json", "--workers", "1")
    )
    n_points = len(explored["fronts"][0]["points"])
    shown = page_in_browser(tmp_path / "front.html", tmp_path / "profile")
    assert (shown.count("<circle"), shown.count("<tr data-point")) == (n_points, n_points)
    assert shown.count("<option") == 2 * 5
