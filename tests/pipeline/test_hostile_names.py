"""Names that have a meaning in some language, from the ONNX file to programs, pictures, tables and command lines."""

from pathlib import Path
from xml.etree import ElementTree as ET

import onnx
import pytest

from commands.command_line import run
from commands.hostile import HOSTILE, PROGRAM_NAMES
from example_folders import example
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.texts.quoting import toml_string
from tinysplit_hil.bench.reset import reset_commands
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice

BOARD = "nucleo_g071rb"
G0 = load_debug_port(BOARD)
SERIAL = "066EFF01"
FOLDER = 'a b\'$(touch pwned)[x]{y};# "z" grün `touch pwned`'


def hostile_model(folder: Path) -> Path:
    """Write the example network with other names of nodes and of the file."""
    model = onnx.load(example.MODEL)
    for node, name in zip(model.graph.node, HOSTILE, strict=False):
        node.name = name
    path = folder / f"{FOLDER} *?, [red]x[-red] <b>|\n\x1b[2J.onnx"
    onnx.save(model, path)
    return path


def is_plain(text: str) -> bool:
    return all(each.isprintable() for each in text.replace("\n", ""))


@pytest.mark.slow
@pytest.mark.usefixtures("by_platformio")
def test_a_network_and_a_folder_with_hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / FOLDER
    place.mkdir()
    model, split, out = hostile_model(place), place / "split.json", place / "out"
    boards = ("-b", BOARD, "-b", BOARD)
    assert is_plain(run("analyze", str(model)))
    assert is_plain(run("split", str(model), *boards, "--use-all", "-o", str(split)))
    assert is_plain(run("quantize", str(model), "-s", str(example.CALIBRATION)))
    assert is_plain(
        run("pareto", str(model), *boards, "--second-objective", "energy", "--html", str(place / "front.html"))
    )
    assert is_plain(run("generate", str(model), "--split", str(split), "-s", str(example.CALIBRATION), "-o", str(out)))
    assert is_plain(run("build", str(out)))
    samples = ("-s", str(example.SAMPLES), "--sample-count", "1")
    files = {name: place / name for name in ("junit.xml", "timeline.svg", "times.csv")}
    written = ("--junit", str(files["junit.xml"]), "--timeline-svg", str(files["timeline.svg"]))
    text = run("measure", str(out), *samples, "--timeline", *written, "--csv", str(files["times.csv"]))
    assert is_plain(text)
    tables = (out / "measurement.txt").read_text(encoding="utf-8")
    assert is_plain(tables)
    assert "[red]x[-red]" in tables  # as it is
    assert is_plain(run("validate", str(out), *samples))
    assert is_plain(run("report", str(out), "-o", str(place / "report.html")))
    for path in (files["junit.xml"], files["timeline.svg"], out / "wiring.svg"):
        ET.parse(path)  # noqa: S314 (our own)
    assert is_plain((out / "README.md").read_text())
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_scripts_of_openocd_name_the_file_that_is_flashed(name: str, tmp_path: Path) -> None:
    """Tcl itself runs the script, with commands that note their arguments."""
    tkinter = pytest.importorskip("tkinter", reason="needs Tcl: apt-get install python3-tk")
    openocd, image = PROGRAMMERS[ProgrammerName.OPENOCD], tmp_path / name / "firmware.elf"
    probe = ProbeChoice(SERIAL)
    assert openocd.write
    commands = [*openocd.flash(G0, image, probe), openocd.write(G0, image, 0x0801_0000, probe)]
    for command in commands:
        interpreter = tkinter.Tcl()
        interpreter.eval("proc note {args} { lappend ::noted {*}$args }; proc echo {text} {}; set noted {}")
        for known in ("flash", "verify_image"):
            interpreter.eval(f"proc {known} {{args}} {{ note {{*}}$args }}")
        for known in ("init", "reset", "shutdown", "exec"):
            interpreter.eval(f"proc {known} {{args}} {{ lappend ::others {known} }}")
        interpreter.eval(command[-1])
        noted = interpreter.splitlist(interpreter.eval("set noted"))
        assert [word for word in noted if not word.startswith(("0x", "write_image", "erase"))] == [str(image)] * 2
        assert "exec" not in interpreter.splitlist(interpreter.eval("set others"))


@pytest.mark.parametrize("programmer", sorted(set(PROGRAMMERS) - {ProgrammerName.OPENOCD}))
@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_other_programmers_get_the_path_as_one_argument(programmer: ProgrammerName, name: str, tmp_path: Path) -> None:
    image = tmp_path / name / "firmware.elf"
    for command in PROGRAMMERS[programmer].flash(G0, image, ProbeChoice(SERIAL)):
        words = [word.removeprefix("if=").removesuffix(".bin").removesuffix(".elf") for word in command]
        assert str(image.with_suffix("")) in words


@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_rig_files_name_plain_probes(name: str, tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(f'[[board]]\nname = "{BOARD}"\nserial_number = {toml_string(name)}\n', encoding="utf-8")
    with pytest.raises(Exception, match="has other characters than letters, digits and") as caught:
        reset_commands(rig, [1], ProgrammerName.OPENOCD)
    assert str(caught.value).isprintable()
