"""Programs without diagnostics: they compute the same, are as large as expected, and cannot be measured."""

from pathlib import Path

from rich.console import Console

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from example_folders.weights_folders import shared_binary
from tinysplit.build.folder import build_folder
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.stream import stream
from tinysplit_hil.rig.rig import open_rig

BOARD = "nucleo_g071rb"


def test_a_folder_without_diagnostics(tmp_path: Path) -> None:
    split, out = str(tmp_path / "split.json"), tmp_path / "out"
    run("split", str(example.MODEL), "-b", BOARD, "-o", split)
    given = ("--split", split, "-s", str(example.CALIBRATION), "-o", str(out))
    run("generate", str(example.MODEL), *given, "--no-diagnostics")
    project = Project.read(out)
    built = build_folder(project, out, Console(quiet=True))
    built.check()
    predicted, found = project.boards[0].predicted_flash_bytes, built.boards[0].sizes.flash.used_bytes
    assert predicted is not None
    assert abs(predicted - found) < 0.02 * found
    quantized = read_quantized(out, project)
    samples = load_samples(example.SAMPLES, quantized.graph).x[:5]
    with open_rig("virtual", project, out) as rig:
        outputs = stream(project, rig, quantize_input(quantized, samples)).outputs
    assert (outputs == run_integer(quantized, samples).reshape(len(samples), -1)).all()
    line = run("measure", str(out), "--samples", str(example.SAMPLES), expect=BAD_INPUT)
    assert f"{out} was generated with --no-diagnostics: its programs have no requests for times" in line


def test_a_structure_keeps_its_diagnostics(tmp_path: Path) -> None:
    _, folder = shared_binary(BOARD, "nucleo_f401re")
    given = ("--split", str(folder / "split.json"), "-s", str(example.CALIBRATION), "-o", str(tmp_path / "out"))
    options = ("--structure-of", str(folder), "--no-diagnostics")
    line = run("generate", str(example.MODEL), *given, *options, expect=USAGE)
    assert f"the programs of {folder} have diagnostics: leave --no-diagnostics out" in line
