"""Published figures that are plots, against what the documents say about them and counts by hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.browser import page_in_browser
from commands.command_line import BAD_INPUT, USAGE, run
from session.profiles import cases
from tinysplit.papers.plots.frame_rates import RATES, frame_rate_plots, latencies, stays_below
from tinysplit.papers.plots.page import figures_page
from tinysplit.papers.plots.plot import Work, bars_of
from tinysplit.papers.plots.profiles import FLASH, MACC, RAM, normalized, profile
from tinysplit.papers.plots.waiting_time import ASSIGNMENT, conflicts, example, layers_between, schedule
from tinysplit.papers.reproduce.figures import MUKHERJEE_TABLE_2, TABLE_2
from tinysplit.papers.reproduce.reproduction import Reproduction, Verdict
from tinysplit.papers.reproduce.tables import Platform, reproduce
from tinysplit.split.evaluate.period import period_s
from tinysplit.split.problem import Period

SECONDS = st.integers(1, 1000).map(lambda ms: ms / 1000)
TITLES = [
    ("Santamaria 2021", "Figure 2"),
    ("Santamaria 2021", "Figure 3"),
    ("Mukherjee 2022", "Figure 4"),
    ("Mukherjee 2022", "Figure 5"),
]


@pytest.fixture(scope="module")
def reproduction() -> Reproduction:
    return reproduce()


@settings(max_examples=cases(quick=20, full=200, nightly=4000))
@given(st.tuples(SECONDS, SECONDS, SECONDS, SECONDS))
def test_layers_3_and_1_meet_for_all_times_that_keep_orange_busiest(seconds: tuple[float, ...]) -> None:
    one, two, three, four = seconds
    if one + three <= two + four:
        one += two + four
    problem = example((one, two, three, four))
    assert conflicts(schedule(problem, ASSIGNMENT, period_s(problem, ASSIGNMENT, Period.OLD)), 0) == "3 and 1"
    assert conflicts(schedule(problem, ASSIGNMENT, period_s(problem, ASSIGNMENT, Period.PAPER)), 0) == "none"
    assert layers_between(problem, ASSIGNMENT) == "2"


def test_schedule_by_hand() -> None:
    works = schedule(example((1.0, 0.5, 1.0, 0.5)), ASSIGNMENT, 2.0, count=2)
    first = [(0, 0.0, 1.0, "1"), (1, 1.0, 1.5, "2"), (0, 1.5, 2.5, "3"), (1, 2.5, 3.0, "4")]
    assert works[:4] == tuple(Work(*work, 1) for work in first)
    assert works[4] == Work(0, 2.0, 3.0, "1", 2)
    bars = bars_of(works)
    assert [(bar.row, bar.start_s) for bar in bars if bar.lane == 0] == [(0, 0.0), (0, 1.5), (1, 2.0), (0, 3.5)]
    assert {bar.row for bar in bars if bar.lane == 1} == {0}


def test_profiles_add_up_to_table_2() -> None:
    for row in TABLE_2:
        if row.model == "VoxCeleb":
            continue
        values = profile(row.model)
        assert f"{sum(values[FLASH]) / 1024:.2f}" == row.flash_kb
        if row.model not in {"MobileNet v1 030", "KWS DS-CNN"}:
            assert f"{max(values[RAM]) / 1024:.2f}" == row.ram_kb
        if row.model != "KWS DS-CNN":
            digits = len(row.macc_millions.partition(".")[2])
            assert f"{sum(values[MACC]) / 1e6:.{digits}f}" == row.macc_millions
        assert max(normalized(values[MACC])) == 1.0


def test_profile_by_hand() -> None:
    # Tiny-CNN: 16 filters 3x3x1, 32 of 3x3x16, 48 of 3x3x32, 480 weights and 10 biases.
    assert profile("Tiny-CNN")[FLASH] == (16 * 10 * 4, 32 * 145 * 4, 48 * 289 * 4, 490 * 4)


def test_latencies_by_hand() -> None:
    # Image k of the pipeline is ready after 195 + 201 k ms; on whole networks the TPU takes images 1, 3, 4 and the
    # Nano image 2.
    through, greedy = latencies(25.0, 4)
    assert through == pytest.approx([0.195 + 0.201 * k - 0.040 * (k - 1) for k in range(1, 5)])
    assert greedy == pytest.approx([0.299, 0.689, 2 * 0.299 - 0.080, 3 * 0.299 - 0.120])


def test_the_pipeline_is_better_above_what_the_tpu_takes_alone(reproduction: Reproduction) -> None:
    (row,) = (row for row in reproduction.rows if row.quantity == "better from, frames/s")
    at_most = 1000 / MUKHERJEE_TABLE_2[0].tpu_ms
    assert float(row.ours) == min(rate for rate in RATES if rate > at_most)


def test_stays_below() -> None:
    assert stays_below((1, 5, 1, 1), (2, 2, 2, 2)) == 2
    assert stays_below((1, 1), (2, 2)) == 0
    assert stays_below((1, 3), (2, 2)) is None


def test_bars_of_a_device_never_overlap() -> None:
    schedules, _ = frame_rate_plots()
    for panel in schedules.panels:
        for lane in range(2):
            bars = [bar for bar in panel.bars if bar.lane == lane]
            assert {bar.row for bar in bars} == {0}
            assert bars
        assert {bar.number for bar in panel.bars} == set(range(1, 11))


def test_rows_say_what_is_not_identifiable(reproduction: Reproduction) -> None:
    rows = [row for row in reproduction.rows if (row.source, row.title) in TITLES]
    printed = {(row.row, row.quantity): (row.published, row.ours, row.verdict) for row in rows if row.published}
    assert printed == {
        ("old definition", "orange at once"): ("3 and 1", "3 and 1", Verdict.EQUAL),
        ("improved one", "orange at once"): ("none", "none", Verdict.EQUAL),
        ("both", "intermediate layer"): ("2", "2", Verdict.EQUAL),
        ("pipeline", "first image, ms"): ("396", "396", Verdict.EQUAL),
        ("pipeline", "last layer on the Nano"): ("15", "", Verdict.NOT_IDENTIFIABLE),
        ("pipeline", "better from image"): ("5", "21", Verdict.KNOWN_TO_DIFFER),
        ("greedy", "whole network, Nano, ms"): ("688", "689", Verdict.KNOWN_TO_DIFFER),
    }
    assert {row.verdict for row in rows if not row.published} == {Verdict.NOT_IDENTIFIABLE}
    assert all(row.why_not for row in rows if row.verdict is not Verdict.EQUAL)
    assert [(plot.source, plot.title) for plot in reproduction.plots] == TITLES


def test_the_page_has_the_rows_and_the_data(reproduction: Reproduction) -> None:
    page = figures_page(reproduction)
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [len(plot["panels"]) for plot in data] == [2, 7, 2, 3]
    assert page.count("<tr><td>") == sum((row.source, row.title) in TITLES for row in reproduction.rows)
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.html").write_text("mine")
    assert "was not written by tinysplit" in run("reproduce", "--html", "mine.html", expect=BAD_INPUT)
    wrong = run("reproduce", "--html", "a.html", "--platform", Platform.DARIOL_2023, expect=USAGE)
    assert "leave out --platform" in wrong
    data = json.loads(run("reproduce", "--html", "mine.html", "--force", "--json"))
    assert [plot["title"] for plot in data["plots"]] == [title for _, title in TITLES]
    assert {row["verdict"] for row in data["rows"]} == set(Verdict) - {Verdict.UNEXPECTED}
    assert "Mukherjee 2022, Figure 5" in Path("mine.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_in_a_browser(reproduction: Reproduction, tmp_path: Path) -> None:
    page = tmp_path / "figures.html"
    page.write_text(figures_page(reproduction), encoding="utf-8")
    shown = page_in_browser(page, tmp_path / "profile")
    curves = [len(panel.curves) for plot in reproduction.plots for panel in plot.panels]
    bars = [len(panel.bars) for plot in reproduction.plots for panel in plot.panels]
    assert (shown.count("<polyline"), shown.count("<rect")) == (sum(curves), sum(bars))
    assert shown.count("<svg") == len(curves)
