"""`tinysplit arrivals`: rates, traces of times, losses, divided layers, copies, and timelines."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders.example import MODEL

BOARDS = ("-b", "nucleo_g071rb", "-b", "nucleo_g071rb")
SVG = "{http://www.w3.org/2000/svg}"
WAITING = ("poll", "sleep")


@pytest.fixture(scope="module")
def split_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("split") / "split.json")
    run("split", str(MODEL), *BOARDS, "--use-all", "-o", path)
    return path


def test_a_split_beside_whole_networks(split_file: str) -> None:
    arguments = ("arrivals", str(MODEL), "--split", split_file, "--frame-rate", "12", "--input-count", "20")
    report = json.loads(run(*arguments, "--json"))
    assert set(report["placements"]) == {"split", "whole networks"}
    found, split = report["simulation"], json.loads(Path(split_file).read_text())["figures"]
    assert found["T"] == pytest.approx(split["T"])
    assert found["period_s"] == pytest.approx(1 / 12)
    assert [board["number"] for board in found["boards"]] == [1, 2]
    spans_s = [board["computing_s"] + board["moving_s"] + board["waiting_s"] for board in found["boards"]]
    assert spans_s == pytest.approx([found["span_s"]] * 2)
    polls, sleeps = (found["energy_j"][waiting] for waiting in WAITING)
    assert polls > sleeps > 0
    printed = run(*arguments)
    assert "20 inputs, 12 per second (estimated)" in printed
    assert f"{1000 * sleeps:.2f}" in printed


def test_what_is_full_is_named(split_file: str) -> None:
    printed = run("arrivals", str(MODEL), "--split", split_file, "--frame-rate", "1000", "--input-count", "20")
    (line,) = [line for line in printed.splitlines() if line.startswith("split: inputs arrive faster than outputs")]
    (bottleneck,) = [line for line in printed.splitlines() if line.startswith("bottleneck: ")]
    assert line.endswith(f"so the queue grows: {bottleneck.removeprefix('bottleneck: ')}")


def test_a_trace_with_losses_and_a_timeline(split_file: str, tmp_path: Path) -> None:
    (tmp_path / "times.txt").write_text("0\n0.1\n\n0.1\n2\n")
    svg, trace = tmp_path / "timeline.svg", tmp_path / "trace.json"
    printed = run(
        *("arrivals", str(MODEL), "--split", split_file, "--arrival-times", str(tmp_path / "times.txt")),
        *("--loss-rate", "1e-3", "--timeline", "--timeline-svg", str(svg), "--timeline-trace", str(trace)),
    )
    assert "4 inputs, from a trace (estimated)" in printed
    assert "0.001 of all bytes on links lost" in printed
    assert "link 1-2" in printed
    titles = {title.text or "" for title in ET.parse(svg).iter(f"{SVG}title")}  # noqa: S314 (our own file)
    assert any(title.startswith("cut 1 of inference 4:") for title in titles)
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"input of inference 1", "waiting for input of inference 2", "output of inference 4"} <= names


def test_divided_layers(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.json")
    run("split", str(MODEL), *BOARDS, "--baud", "3000000", "--slices", "rows", "--time-limit", "1", "-o", path)
    report = json.loads(run("arrivals", str(MODEL), "--split", path, "--frame-rate", "5", "--timeline", "--json"))
    figures = json.loads(Path(path).read_text())["figures"]
    assert json.loads(Path(path).read_text())["slices"]
    assert report["simulation"]["I"] == pytest.approx(figures["I"], rel=0.01)
    rows = {span["row"] for span in report["timeline"]["simulated"]}
    assert rows == {"host, inputs", "board 1", "link 1-2", "board 2", "host, outputs"}


def test_copies(tmp_path: Path) -> None:
    path = str(tmp_path / "copies.json")
    run("split", str(MODEL), *BOARDS, "--objective", "throughput", "--replicate", "-o", path)
    report = json.loads(run("arrivals", str(MODEL), "--split", path, "--frame-rate", "1000", "--json"))
    assert set(report["placements"]) == {"copies"}
    assert len(report["simulation"]["boards"]) == 2
    period_s = json.loads(Path(path).read_text())["figures"]["period_s"]
    assert report["simulation"]["period_s"] == pytest.approx(period_s, rel=0.05)


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ((), USAGE, "give either --frame-rate or --arrival-times"),
        (("--frame-rate", "0"), USAGE, "the rate must be positive"),
        (("--frame-rate", "1", "--loss-rate", "0.5"), USAGE, "--loss-rate 0.5: a link may lose"),
        (("--arrival-times", "{}/nothing"), BAD_INPUT, "cannot be read"),
    ],
)
def test_wrong_options(split_file: str, options: tuple[str, ...], code: int, says: str, tmp_path: Path) -> None:
    filled = (option.format(tmp_path) for option in options)
    assert says in run("arrivals", str(MODEL), "--split", split_file, *filled, expect=code)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1\nsoon\n", "line 2: 'soon' is no time in seconds"),
        ("1\n0.5\n", "line 2: 0.5 s is not between the time before, 1 s, and 1e+09 s"),
        ("nan\n", "line 1: nan s is not between"),
        ("\n", "has 0 times: between 1 and 100000 inputs can be simulated"),
    ],
)
def test_wrong_traces(split_file: str, text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "times.txt"
    path.write_text(text)
    arguments = ("arrivals", str(MODEL), "--split", split_file, "--arrival-times", str(path))
    assert says in run(*arguments, expect=BAD_INPUT)
