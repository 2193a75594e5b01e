"""Why a split was taken, as the report shows it."""

from pathlib import Path

import pytest

from commands.browser import layout_in_browser
from commands.command_line import run
from commands.report_page import written
from example_folders.example import CALIBRATION, MODEL
from tinysplit.project.split_file import SplitFile, read_split
from tinysplit.split.explain.reasons import NamedValue, Reasons
from tinysplit_hil.html_report.why import why_of

BOARDS = ("-b", "nucleo_g071rb", "-b", "nucleo_g071rb")
REASONS = Reasons(
    best_of_each_kind={"rows": 0.02, "one board": 0.04},
    following=(NamedValue(name="layers 1-7 on board 1", value=0.04),),
    by_cut=(0.05, None, 0.1, 0.025, 0.03, 0.04),
    faster=(),
)


def searched(folder: Path, *options: str) -> Path:
    path = folder / "split.json"
    run("split", str(MODEL), *BOARDS, *options, "-o", str(path))
    return path


@pytest.fixture
def split(tmp_path: Path) -> SplitFile:
    """A split of whole layers with a cut after layer 4, with reasons of a test."""
    given = read_split(searched(tmp_path, "--assign", "1-4:1,5-7:2"))
    figures = given.figures.model_copy(update={"I": 0.02})
    return given.model_copy(update={"figures": figures, "reasons": REASONS})


def test_values_beside_that_of_the_split(split: SplitFile) -> None:
    why = why_of(split)
    assert why is not None
    kinds, following = why.tables  # nothing would be faster
    assert [[cell.text for cell, _ in row] for row in kinds.rows] == [
        ["rows", "20.00", "+0.0"],
        ["one board", "40.00", "+100.0"],
    ]
    assert [cell.is_marked for cell in kinds.columns[0].cells] == [True, False]
    assert [cell.share for cell in kinds.columns[1].cells] == [0.5, 1.0]
    assert following.rows[0][0][0].text == "layers 1-7 on board 1"


def test_bars_are_as_high_as_the_latency(split: SplitFile) -> None:
    why = why_of(split)
    assert why is not None
    chart = why.chart
    assert chart is not None
    highest = max(bar.height for bar in chart.bars)
    assert [bar.height / highest for bar in chart.bars] == pytest.approx([0.5, 1, 0.25, 0.3, 0.4])
    assert all(bar.y + bar.height == pytest.approx(chart.bottom) for bar in chart.bars)
    assert [bar.tooltip for bar in chart.bars if bar.is_taken] == ["cut after layer 4: 25.00 ms"]
    assert [mark.text for mark in chart.marks] == ["0", "20", "40", "60", "80", "100"]
    assert [step.text for step in chart.steps] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.slow
def test_the_report_has_what_the_search_found(tmp_path: Path) -> None:
    path, out, page_path = searched(tmp_path, "--slices", "none"), tmp_path / "out", tmp_path / "report.html"
    reasons = read_split(path).reasons
    assert reasons is not None
    run("generate", str(MODEL), "--split", str(path), "--samples", str(CALIBRATION), "-o", str(out))
    page = written(page_path, out)
    values = [row[0] for row in page.rows if len(row) == 2]
    expected = [*reasons.best_of_each_kind.values(), *(each.value for each in (*reasons.following, *reasons.faster))]
    assert values == pytest.approx([1000 * value for value in expected])
    for number, value in enumerate(reasons.by_cut, 1):
        assert value is None or f"cut after layer {number}: {1000 * value:.2f} ms" in page.text
    assert layout_in_browser(page_path, (1400, 700, 400), tmp_path) == {1400: [], 700: [], 400: []}


def test_a_given_split_has_no_reasons(tmp_path: Path) -> None:
    assert why_of(read_split(searched(tmp_path, "--assign", "1-4:1,5-7:2"))) is None
