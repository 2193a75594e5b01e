"""`generate --standalone`, the application that comes with every folder, `monitor`, and mistakes in all of them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from example_folders.example import CALIBRATION, MODEL
from rigs.standalone_boards import Division, standalone_project
from session.shared_folder import made_once
from tinysplit.cli.app import app
from tinysplit.common import package_files
from tinysplit.common.choices import InputSource
from tinysplit.project.manifest import Project

G071 = "nucleo_g071rb"


@pytest.fixture(scope="module")
def split_file() -> Path:
    """Return a split of the example over two boards, in whole layers."""

    def make(folder: Path) -> None:
        folder.mkdir()
        boards = ("-b", G071, "-b", G071, "--use-all", "--slices", "none", "--baud", "921600")
        run("split", str(MODEL), *boards, "-o", str(folder / "split.json"))

    return made_once("split-for-standalone", make) / "split.json"


def generate(split_file: Path, out: Path, *options: str, expect: int = 0) -> str:
    return run(
        "generate",
        str(MODEL),
        "--split",
        str(split_file),
        "-s",
        str(CALIBRATION),
        "-o",
        str(out),
        *options,
        expect=expect,
    )


def test_only_standalone_programs_have_its_parts(split_file: Path, tmp_path: Path) -> None:
    for name, options in (("host", ()), ("standalone", ("--standalone", "--frame-rate", "10"))):
        generate(split_file, tmp_path / name, *options)
    host, alone = (tmp_path / name / f"board1_{G071}" for name in ("host", "standalone"))
    for path, is_standalone in ((host, False), (alone, True)):
        assert (path / "include" / "standalone_settings.h").exists() == is_standalone
        assert (path / "lib/tinysplit_firmware/src/standalone.c").exists() == is_standalone
        assert ("-D STANDALONE" in (path / "platformio.ini").read_text()) == is_standalone
        assert (path / "src" / "application.c").is_file()
    assert "APPLICATION_INPUT 1" in (alone / "include" / "application.h").read_text()
    assert "STANDALONE_FRAME_US 100000u" in (alone / "include" / "standalone_settings.h").read_text()
    assert Project.read(tmp_path / "standalone").input_source is InputSource.BOARD
    assert "SysTick" in (tmp_path / "host" / "README.md").read_text()
    assert "was generated without --standalone" in run("monitor", str(tmp_path / "host"), expect=BAD_INPUT)


@pytest.mark.parametrize(("low_power", "stops"), [("sleep", False), ("stop", True), ("auto", True)])
def test_only_programs_that_stop_have_stop_mode(split_file: Path, tmp_path: Path, low_power: str, stops: bool) -> None:
    shown = generate(split_file, tmp_path / "out", "--standalone", "--frame-rate", "5", "--low-power", low_power)
    board = tmp_path / "out" / f"board1_{G071}"
    assert ("-D STOP_MODE" in (board / "platformio.ini").read_text()) == stops
    assert (board / "lib/tinysplit_firmware/src/stop_mode.c").exists() == stops
    assert ("STANDALONE_PROBE_MS" in (board / "include/standalone_settings.h").read_text()) == stops
    assert (".wake_bytes = " in (board / "src/network.c").read_text()) == stops
    assert ("EXTI3 (PA3 ends stop mode)" in (tmp_path / "out" / "README.md").read_text()) == stops
    assert ("stop mode 0.0 %" in shown) != stops


def test_where_there_is_no_gap_auto_sleeps(split_file: Path, tmp_path: Path) -> None:
    generate(split_file, tmp_path / "out", "--standalone", "--low-power", "auto")
    assert not (tmp_path / "out" / f"board1_{G071}" / "lib/tinysplit_firmware/src/stop_mode.c").exists()


def test_a_board_that_cannot_wake_by_its_uarts_is_refused(tmp_path: Path) -> None:
    """PA10 of the host and PB10 of the link share an EXTI line."""
    text = (package_files.boards() / f"{G071}.toml").read_text(encoding="utf-8")
    before, _, after = text.partition("[[link_uarts]]")
    before = before.replace('name = "USART2"\ntx = "PA2"\nrx = "PA3"', 'name = "USART1"\ntx = "PA9"\nrx = "PA10"')
    after = after.replace('name = "USART1"\ntx = "PA9"\nrx = "PA10"', 'name = "LPUART1"\ntx = "PB11"\nrx = "PB10"')
    (tmp_path / "own.toml").write_text(f"{before}[[link_uarts]]{after}", encoding="utf-8")
    split_file = tmp_path / "split.json"
    boards = ("-b", str(tmp_path / "own.toml"), "-b", G071, "--use-all", "--slices", "none")
    run("split", str(MODEL), *boards, "-o", str(split_file))
    asked = ("--standalone", "--frame-rate", "5", "--low-power")
    error = "own cannot wake by LPUART1: PB10 has the EXTI line of PA10 of USART1"
    assert error in generate(split_file, tmp_path / "out", *asked, "stop", expect=USAGE)
    assert "stop mode 0.0 %" in generate(split_file, tmp_path / "out", *asked, "auto")


def test_links_that_poll_cannot_wake_a_board(tmp_path: Path) -> None:
    split_file = tmp_path / "split.json"
    boards = ("-b", G071, "-b", G071, "--use-all", "--slices", "none", "--baud", "57600", "--link-driver", "polling")
    run("split", str(MODEL), *boards, "-o", str(split_file))
    asked = ("--standalone", "--frame-rate", "5", "--low-power", "stop")
    assert "cannot wake by its links, whose driver polls" in generate(split_file, tmp_path / "o", *asked, expect=USAGE)


def test_an_application_stays_when_another_split_is_generated(split_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(split_file, out)
    mine = out / f"board1_{G071}" / "src" / "application.c"
    mine.write_text("/* mine */\n")
    untouched = out / f"board2_{G071}" / "include" / "application.h"
    before = untouched.read_text()
    parts = out / f"board1_{G071}" / "application.toml"
    parts.write_text('pins = ["PA9"]\n')
    message = "application.toml: pin PA9 is used by the firmware: USART1"
    assert message in generate(split_file, out, "--standalone", "--force", expect=BAD_INPUT)
    assert message in run("build", str(out), expect=BAD_INPUT)
    parts.write_text('pins = ["PA8"]\n')
    generate(split_file, out, "--standalone", "--force")
    assert parts.read_text() == 'pins = ["PA8"]\n'
    assert mine.read_text() == "/* mine */\n"
    assert untouched.read_text() != before
    assert "APPLICATION_OUTPUT 1" in untouched.read_text()


@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        (("--frame-rate", "10"), USAGE, "--frame-rate is for boards without a host: add --standalone"),
        (("--late-inputs", "refuse"), USAGE, "--late-inputs is for boards without a host: add --standalone"),
        (("--standalone", "--late-inputs", "refuse"), USAGE, "--late-inputs is for inputs at a rate: add --frame-rate"),
        (("--standalone", "--frame-rate", "0"), USAGE, "each microsecond to 71 minutes"),
        (("--standalone", "--frame-rate", "1e-9"), USAGE, "each microsecond to 71 minutes"),
        (("--standalone", "--frame-rate", "500"), BAD_INPUT, "give at most"),
        (
            ("--standalone", "--host-protocol", "mlperf", "--mlperf-model", "ic01"),
            USAGE,
            "brings inputs over the host's port: leave --standalone out",
        ),
        (("--standalone", "--weights", "encrypted"), USAGE, "needs a host that gives the key after each start"),
        (("--low-power", "stop"), USAGE, "--low-power is for boards without a host: add --standalone"),
    ],
)
def test_what_boards_cannot_do_is_refused(
    split_file: Path, tmp_path: Path, options: tuple[str, ...], status: int, text: str
) -> None:
    assert text in generate(split_file, tmp_path / "out", *options, expect=status)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_boards_are_watched_and_measured_while_they_run() -> None:
    _, folder = standalone_project(Division("whole layers", (G071, "nucleo_f401re")))
    boards = json.loads(run("monitor", str(folder), "--seconds", "0.5", "--json"))["boards"]
    assert [board["error"] for board in boards] == [None, None]
    assert [board["counters"]["failures"] for board in boards] == [0, 0]
    assert any(board["counters"]["inputs"] > 10 for board in boards)
    assert any((board["results_per_s"] or 0) > 20 for board in boards)
    assert all(board["seconds_of_steps"] for board in boards)
    assert "last reset" in run("monitor", str(folder), "--seconds", "0.1")
    samples = folder.parent / "samples.npz"
    measured = json.loads(run("measure", str(folder), "-s", str(samples), "--sample-count", "3", "--json"))
    assert measured["failures"] == []
    assert measured["output"]["bit_exact"]


Change = Callable[[str], str]
MISTAKES: tuple[tuple[str, Change, str], ...] = (
    ("src/application.c", lambda text: text.replace("application_begin", "begin"), "does not define application_begin"),
    ("src/application.c", lambda text: text + "void application_idle(void) {}\n", "defines application_idle twice"),
    ("src/application_more.c", lambda _text: "void application_idle(void) {}\n", "defines application_idle twice"),
    (
        "include/application.h",
        lambda text: text.replace("#define APPLICATION_OUTPUT", "#define NO_OUTPUT"),
        "does not say whether it has application_output",
    ),
    (
        "include/application.h",
        lambda text: text.replace("#define APPLICATION_IDLE", "#define APPLICATION_INPUT 1\n#define APPLICATION_IDLE"),
        "has application_input, and another board has the input",
    ),
    (
        "include/application.h",
        lambda text: text.replace("APPLICATION_IDLE 1", "APPLICATION_IDLE 0"),
        "",
    ),
    (
        "src/application.c",
        lambda text: text.replace("#if APPLICATION_IDLE", "#if 1"),
        "defines application_idle, which is not called: set APPLICATION_IDLE to 1",
    ),
)


@pytest.mark.slow
@pytest.mark.usefixtures("by_platformio")
def test_a_board_that_begins_runs_needs_an_input(split_file: Path, tmp_path: Path) -> None:
    """As after `generate` with a host, if the application has changed its header."""
    built = tmp_path / "out"
    generate(split_file, built, "--standalone")
    header = built / f"board1_{G071}" / "include" / "application.h"
    header.write_text(header.read_text().replace("APPLICATION_INPUT 1", "APPLICATION_INPUT 0"))
    text = run("build", str(built), expect=BAD_INPUT)
    assert "has no application_input, but its board begins runs: set APPLICATION_INPUT to 1 in application.h" in text
    header.unlink()
    assert "has no include/application.h" in run("build", str(built), expect=BAD_INPUT)


@pytest.mark.slow
@pytest.mark.usefixtures("by_platformio")
def test_what_is_missing_is_named(split_file: Path, tmp_path: Path) -> None:
    built = tmp_path / "out"
    generate(split_file, built, "--standalone")
    source = built / f"board1_{G071}" / "src" / "application.c"
    changed = source.read_text().replace(
        "void application_idle(void) {}", "void lost(void);\nvoid application_idle(void) { lost(); }"
    )
    source.write_text(changed)
    assert "undefined reference to `lost'" in run("build", str(built), expect=TOOL)


@pytest.mark.slow
def test_mistakes_of_an_application_are_one_line_each(split_file: Path, tmp_path: Path) -> None:
    built = tmp_path / "out"
    generate(split_file, built, "--standalone")
    project = built / f"board2_{G071}"
    for name, change, text in MISTAKES:
        path = project / name
        before = path.read_text() if path.exists() else None
        path.write_text(change(before or ""))
        assert text in run("build", str(built), expect=BAD_INPUT if text else 0)
        if before is None:
            path.unlink()
        elif text:
            path.write_text(before)
    with (project / "src" / "application.c").open("a") as source:
        source.write("/* changed */\n")
    watched = CliRunner().invoke(app, ("monitor", str(built), "--seconds", "0.01"))
    assert f"board 2 ({G071}) runs what was built from other files" in watched.stderr
