"""Texts of all faces have names of settings, and never marks: messages, results and files."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, USAGE, has_marks, run
from example_folders import example
from tinysplit import api
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.errors import CheckFailedError, TinysplitError, UsageError
from tinysplit.common.log import logged
from tinysplit.common.progress import console_of
from tinysplit.common.texts.console import PlainConsole
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import Outcome
from tinysplit.explore.journal import Journal
from tinysplit.settings.result_files import FORCE

G0, F4 = "nucleo_g071rb", "nucleo_f446re"
MODEL = str(example.MODEL)


def test_marks_are_found() -> None:
    assert has_marks(f"{FORCE}")
    assert has_marks(json.dumps(f"{FORCE}"))
    assert not has_marks("--force")


def test_consoles_word_texts(capsys: pytest.CaptureFixture[str]) -> None:
    PlainConsole(width=80).print(f"use {FORCE(True)}")
    assert capsys.readouterr().out == "use --force\n"
    lines: list[str] = []
    console_of(lines.append).print(f"use {FORCE(True)}")
    assert lines == ["use force=True"]


def test_the_log_names_options(tmp_path: Path) -> None:
    with logged(tmp_path / "log.txt", is_verbose=False):
        logging.getLogger("tinysplit").info("use %s", FORCE)
    assert "use --force" in (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("split", MODEL, "-b", G0, "--time-limit", "0"), USAGE, "--time-limit 0: expected a number of seconds"),
        (("split", MODEL, "-b", G0, "--assign", "1-7:2"), USAGE, "--assign 1-7:2: there is no board 2"),
        (("split", MODEL, "-b", G0, "--max-latency", "0"), USAGE, "a maximum latency of 0 s excludes every split"),
        (("split", MODEL, "-b", G0, "--link", "1-1:9600"), USAGE, "--link '1-1:9600': give two different boards"),
        (("split", MODEL, "-b", "nucleo"), USAGE, "`tinysplit boards --new PART` writes a file that --board takes)"),
        (("explore", MODEL, "-b", G0, "-b", G0), USAGE, "--board names a board twice: --max-boards limits how often"),
        (("quantize", MODEL, "-s", str(example.SAMPLES), "--input-key", "z"), BAD_INPUT, "name it with --input-key"),
    ],
)
def test_the_command_line_names_options(
    arguments: tuple[str, ...], code: int, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert line in run(*arguments, expect=code)


@pytest.mark.parametrize(
    ("key", "arguments", "line"),
    [
        ("max-latency = 0", (), "tinysplit.toml: max-latency: a maximum latency of 0 s excludes every split"),
        ("time-limit = 0", (), "tinysplit.toml: time-limit 0: expected a number of seconds above zero"),
        ('link = ["1-1:9600"]', (), "tinysplit.toml: link '1-1:9600': give two different boards from 1 to 1"),
        ('clock = "hse"', (), "tinysplit.toml: clock: nucleo_g071rb has no clock for HSE at OSC_IN as delivered"),
        ("baud = 7", (), "tinysplit.toml: baud: link 1-2: nucleo_g071rb: "),
        ("max-latency = 0", ("--max-latency", "-1"), "error: a maximum latency of -1 s excludes every split"),
    ],
)
def test_the_config_file_names_keys(
    key: str, arguments: tuple[str, ...], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tinysplit.toml").write_text(f"{key}\n")
    boards = ("-b", G0, "-b", G0) if key.startswith("baud") else ("-b", G0)
    assert line in run("split", MODEL, *boards, *arguments, expect=USAGE if arguments else BAD_INPUT)


def test_the_config_file_names_a_key_with_its_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("split", MODEL, "-b", G0)
    Path("tinysplit.toml").write_text('host-protocol = "mlperf"\n')
    generate = ("generate", MODEL, "--split", "split.json", "-s", str(example.SAMPLES), "-o", "out")
    wanted = "error: tinysplit.toml: host-protocol mlperf needs --mlperf-model: ad01"
    assert run(*generate, expect=BAD_INPUT).startswith(wanted)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: api.split(MODEL, G0, search=api.Search(assignment="1-7:2")), "assignment 1-7:2: there is no board 2"),
        (lambda: api.split(MODEL, G0, search=api.Search(input_board=2)), "input_board 2: the number of boards is 1"),
        (
            lambda: api.split(MODEL, [G0, G0], api.CostSettings(baud=2_000_000, link_driver=LinkDriver.POLLING)),
            "use link_driver dma, or lower baud",
        ),
        (lambda: api.load_board("nucleo"), "`tinysplit boards --new PART` writes a file that boards takes"),
        (
            lambda: api.split(MODEL, G0, search=api.Search(slices=api.Slices.ROWS, copies=api.Copies.ALWAYS)),
            "copies=Copies.ALWAYS gives boards the whole network: leave slices out",
        ),
    ],
)
def test_scripts_name_arguments(call: Callable[[], object], text: str) -> None:
    with pytest.raises((UsageError, CheckFailedError)) as error:
        call()
    assert text in str(error.value)
    assert not has_marks(str(error.value.args))


def test_errors_of_errors_keep_marks() -> None:
    error = TinysplitError(f"use {FORCE}")
    assert str(TinysplitError(f"x: {error.message}")) == "x: use --force"
    assert str(UsageError("\x1b" + f"{FORCE}")) == r"\x1b--force"


def test_a_journal_has_names(tmp_path: Path) -> None:
    why_not = f"leave {FORCE} out"
    candidate = SetCandidate("m", 8, 0, (G0,))
    with Journal(tmp_path / "explore.jsonl", {}) as journal:
        journal.add([Outcome(candidate, why_not=why_not)])
    text = (tmp_path / "explore.jsonl").read_text()
    assert "leave --force out" in text
    assert not has_marks(text)


@pytest.mark.slow
def test_files_have_no_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    boards = ("-b", G0, "-b", F4, "--use-all", "--hand-off", "whole")
    files = (
        "--save",
        "m.json",
        "--csv",
        "m.csv",
        "--junit",
        "m.xml",
        "--timeline-svg",
        "t.svg",
        "--timeline-trace",
        "t",
    )
    samples = ("-s", str(example.SAMPLES), "--sample-count", "5", "--pipelined")
    data = run("run", MODEL, *boards, *samples, "-o", "out", *files, "--json")
    assert json.loads(data)
    run("report", "out", "-o", "report.html")
    run("explore", MODEL, "-b", G0, "--max-boards", "1", "--html", "front.html", "--time-limit", "0.001")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"m.json", "m.csv", "m.xml", "report.html", "front.html", "tinysplit.json"} <= {
        each.name for each in written
    }
    assert not [path for path in written if has_marks(path.read_text(encoding="utf-8", errors="ignore"))]
