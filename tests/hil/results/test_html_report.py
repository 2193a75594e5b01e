"""The report: one file that needs nothing else, with all sections, opened in a real browser."""

import json
import math
import shutil
from pathlib import Path

import pytest

from commands.browser import layout_in_browser, page_in_browser
from commands.command_line import BAD_INPUT, run
from commands.devtools import browser_page
from commands.report_page import Page, written
from example_folders.example import CALIBRATION, MODEL, shared_example
from example_folders.measured_example import BOARD, shared_measured_example
from tinysplit.common.output_folder import check_output_folder
from tinysplit.project.manifest import Project
from tinysplit_hil.html_report.network import ram_bytes

SECTIONS = {"network", "split", "layers", "timeline", "memory", "accuracy", "energy"}
WIDTHS = (1400, 1020, 900, 700, 400)


LEAST_SHARE = 0.0017  # of a bar


@pytest.mark.slow
def test_a_measured_folder(tmp_path: Path) -> None:
    printed, folder = shared_measured_example()
    page = written(tmp_path / "report.html", folder / "out")
    assert set(page.ids) >= SECTIONS
    assert not [address for address in page.addresses if not address.startswith(("#", "data:"))]
    measured = printed["latency"]["measured"]
    for text in (
        "tiny_cnn",
        f"{1000 * measured['I']:.2f} ms",
        f"virtual boards; estimated {1000 * printed['latency']['estimated']['I']:.2f} ms",
        "START to DONE",
        "48 bytes",  # the cut
        "estimated above measured on virtual boards",
        "SQNR over 1 sample",
        "virtual boards, one inference alone",
        "weights: ",
    ):
        assert text in page.text
    assert "tinysplit measure" not in page.text
    check_output_folder(folder / "out")  # results are nothing that a user has added


def test_what_is_absent_names_its_command(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(shared_example(BOARD, BOARD)[1], folder, ignore=shutil.ignore_patterns(".pio", "measurement.json"))
    manifest = folder / "tinysplit.json"
    manifest.write_text(manifest.read_text().replace('"name": "tiny_cnn"', '"name": "a <script> & b"'))
    page = written(tmp_path / "report.html", folder)
    assert set(page.ids) >= SECTIONS
    assert "a <script> & b" in page.text
    for command in ("build", "measure", "validate"):
        assert f"tinysplit {command} {folder}" in page.text
    assert "nothing was measured yet" in page.text
    assert "predicted" in page.text


def test_a_measurement_of_other_programs_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    printed, measured = shared_measured_example()
    shutil.copytree(measured / "out", folder, ignore=shutil.ignore_patterns(".pio"))
    path = folder / "measurement.json"
    number = str(printed["project_hash"])
    path.write_text(path.read_text().replace(f'"project_hash": {number}', '"project_hash": 1'))
    page = written(tmp_path / "report.html", folder)
    assert "measurement.json is of other programs: measure again" in page.text
    path.write_text("{}")
    refused = run("report", str(folder), "-o", str(tmp_path / "other.html"), expect=BAD_INPUT)
    assert f"{path} is no measurement" in refused


def test_a_folder_that_was_not_generated(tmp_path: Path) -> None:
    refused = run("report", str(tmp_path), "-o", str(tmp_path / "report.html"), expect=BAD_INPUT)
    assert "is not a generated folder" in refused
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_layers_have_what_was_measured_and_validated(tmp_path: Path) -> None:
    printed, folder = shared_measured_example()
    page = written(tmp_path / "report.html", folder / "out")
    layers = Project.read(folder / "out").layers
    noise = json.loads((folder / "out" / "validation.json").read_text())["layers"]
    rows = [row for row in page.rows if len(row) >= 9]
    assert len(rows) == len(layers) == len(printed["layers"])
    for row, layer, measured, error in zip(rows, layers, printed["layers"], noise, strict=True):
        assert row[:2] == [layer.number, layer.board]
        times = [1000 * measured["measured_s"], 1000 * layer.estimated_s, measured["cycles"]]
        assert row[2:5] == pytest.approx(times)
        per_mac = [measured["cycles"] / layer.macc] if layer.macc else []
        assert row[5 : 5 + len(per_mac)] == pytest.approx(per_mac)
        assert row[5 + len(per_mac) :][:3] == [layer.macc, layer.weights_bytes, ram_bytes(layer)]
        sqnr_db = math.inf if error["is_exact"] else error["sqnr_db"]
        assert row[8 + len(per_mac)] == sqnr_db
        assert layer.memory.kernel in page.words


@pytest.mark.slow
def test_a_heading_sorts_the_layers_by_keys(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    page = written(path, shared_measured_example()[1] / "out")
    column = [row[2] for row in page.rows if len(row) >= 9]  # ms, the fourth column of what is shown
    head = "document.querySelectorAll('#layers th')[3]"
    with browser_page(tmp_path / "profile") as shown:
        shown.open(path.as_uri(), 900)
        shown.wait_for("document.querySelector('#layers th button')")
        shown.value(f"{head}.firstChild.focus()")
        for order in ("descending", "ascending"):
            shown.press(" ", 32)
            cells = shown.value(
                "[...document.querySelectorAll('#layers tbody tr')].map((row) => row.cells[3].dataset.value)"
            )
            assert [float(cell) for cell in cells] == sorted(column, reverse=order == "descending")
            assert shown.value(f"{head}.ariaSort") == order
        assert not shown.console


@pytest.mark.slow
def test_it_fits_a_printed_page(tmp_path: Path) -> None:
    path, paper = tmp_path / "report.html", 718  # of A4, in CSS pixels
    written(path, shared_measured_example()[1] / "out")
    with browser_page(tmp_path / "profile") as shown:
        shown.open(path.as_uri(), paper)
        shown.wait_for("document.querySelector('#layers th button')")
        shown.call("Emulation.setEmulatedMedia", media="print")
        assert shown.value("document.documentElement.scrollWidth") <= paper
        assert not shown.value(
            "[...document.querySelectorAll('.wide')].filter((each) => each.scrollWidth > each.clientWidth).length"
        )


@pytest.mark.slow
def test_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    written(path, shared_measured_example()[1] / "out")
    assert set(Page(page_in_browser(path, tmp_path / "profile")).ids) >= SECTIONS


@pytest.mark.slow
def test_the_timeline_is_drawn_in_shares_of_its_width(tmp_path: Path) -> None:
    printed, folder = shared_measured_example()
    page = written(tmp_path / "report.html", folder / "out")
    measured = [span for span in printed["timeline"]["measured"] if span["title"].startswith("layer")]
    length_s = max(span["end_s"] for case in ("estimated", "measured") for span in printed["timeline"][case])
    for span in measured:
        drawn = [bar for bar in page.bars if bar.title.startswith(f"{span['title']}: ")]
        seconds = span["end_s"] - span["start_s"]
        (bar,) = (each for each in drawn if f": {1000 * seconds:.3f} ms" in each.title)
        assert bar.begin == pytest.approx(span["start_s"] / length_s, abs=2e-4)
        assert bar.share == pytest.approx(seconds / length_s, abs=2e-4) or seconds / length_s < LEAST_SHARE
    assert any(bar.title.startswith("waits for cut 1: ") and bar.begin == 0 for bar in page.bars)


@pytest.mark.slow
def test_it_is_readable_at_all_widths(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    written(path, shared_measured_example()[1] / "out")
    assert layout_in_browser(path, WIDTHS, tmp_path) == {width: [] for width in WIDTHS}


@pytest.mark.slow
def test_four_boards_and_long_names_are_readable(tmp_path: Path) -> None:
    folder, path = tmp_path / "out", tmp_path / "report.html"
    run("generate", str(MODEL), "--split", str(four_boards(tmp_path)), "--samples", str(CALIBRATION), "-o", str(folder))
    manifest = folder / "tinysplit.json"
    manifest.write_text(manifest.read_text().replace('"name": "tiny_cnn"', f'"name": "{"a_long_name_" * 8}"'))
    written(path, folder)
    assert layout_in_browser(path, WIDTHS, tmp_path) == {width: [] for width in WIDTHS}


@pytest.mark.slow
def test_mistakes_of_a_layout_are_found(tmp_path: Path) -> None:
    wide = '<div style="width:900px">wide</div>'
    small = '<svg viewBox="0 0 100 100" width="50"><text y="20">small</text><text y="22">over</text></svg>'
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><body>{wide}<div class='wide'>lane</div>{small}</body>")
    found = layout_in_browser(page, (400,), tmp_path)[400]
    for mistake in ("scrolls sideways", "DIV  ends at 9", "a lane does not scroll", "px: small", "small overlaps over"):
        assert any(mistake in each for each in found), mistake


def four_boards(folder: Path) -> Path:
    boards = [option for board in ("nucleo_g071rb", "nucleo_l452re") * 2 for option in ("--board", board)]
    run("split", str(MODEL), *boards, "--use-all", "-o", str(folder / "split.json"))
    return folder / "split.json"
