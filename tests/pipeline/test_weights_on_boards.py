"""Weights in files of their own: outputs and cycles as with C arrays, and networks that change without programs."""

import json
import shutil
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from commands.command_line import BAD_INPUT, CHECK_FAILED, TOOL, USAGE, run
from example_folders import example
from example_folders.weights_folders import generate, other_model, shared_binary
from models.onnx_builder import OnnxBuilder
from rigs.debugged_boards import debugged, need_openocd
from tinysplit import pipeline
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.common.errors import UsageError
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.project.structure import sources_of
from tinysplit.slices.settings import Search
from tinysplit_hil.bench import images
from tinysplit_hil.rig.project_rig import project_wires

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
SAMPLES = ("--samples", str(example.SAMPLES), "--sample-count", "3")


def cycles(report: dict[str, object]) -> list[float]:
    layers = report["layers"]
    assert isinstance(layers, list)
    return [layer["cycles"] for layer in layers]


def test_outputs_and_cycles_are_those_of_arrays() -> None:
    """On a part whose CRC unit reverses bits, and one that does not."""
    _, arrays = example.shared_example(G0, F4)
    _, binary = shared_binary(G0, F4)
    reports = [json.loads(run("measure", str(folder), *SAMPLES, "--json")) for folder in (arrays, binary)]
    assert all(report["output"]["bit_exact"] for report in reports)
    before, now = map(sum, map(cycles, reports))
    assert before <= now == pytest.approx(before, rel=0.05)  # arrays may lie in RAM from the start


@pytest.mark.nightly
def test_outputs_are_those_of_arrays_on_other_families() -> None:
    _, binary = shared_binary("nucleo_h743zi", "nucleo_l4r5zi")
    assert json.loads(run("measure", str(binary), *SAMPLES, "--json"))["output"]["bit_exact"]


def test_another_network_changes_nothing_but_the_file(tmp_path: Path) -> None:
    project, folder = shared_binary(G0, F4)
    other = generate(tmp_path / "out", G0, F4, model=other_model(tmp_path), structure=folder)
    assert (other.project_hash, other.weights_counter) == (project.project_hash, 2)
    for before, now in zip(project.boards, other.boards, strict=True):
        directories = (folder / before.directory, tmp_path / "out" / now.directory)
        assert dict(sources_of(directories[0])) == dict(sources_of(directories[1]))
        assert before.weights_file
        assert now.weights_file
        assert before.weights_file.crc != now.weights_file.crc
        assert before.weights_file.size_bytes == now.weights_file.size_bytes


def kernels(project: Project) -> set[str]:
    return {layer.memory.kernel for layer in project.layers}


def pointwise(folder: Path, least: float, most: float) -> Path:
    """Write a network with 128 inputs of a pointwise layer, whose random weights are multiplied by other numbers."""
    rng, builder = np.random.default_rng(1), OnnxBuilder((1, 4, 16, 16))
    for outputs, inputs, size in ((128, 4, 3), (96, 128, 1)):
        weights = rng.normal(size=(outputs, inputs, size, size))
        weights *= np.random.default_rng(2).uniform(least, most, weights.shape)
        builder.node("Conv", builder.constant(weights), builder.constant(rng.normal(size=outputs)))
    folder.mkdir()
    return builder.save(folder)


def test_no_kernel_whose_code_depends_on_weights(tmp_path: Path) -> None:
    """With `long_mac`, the sums of the one network stay within their fields, and those of the other do not."""
    model, other = pointwise(tmp_path / "one", 0.01, 1), pointwise(tmp_path / "two", 0.5, 0.6)
    samples = tmp_path / "samples.npz"
    np.savez(samples, x=np.random.default_rng(1).random((4, 4, 16, 16), dtype=np.float32))
    context = Context.load(model, (F4,), CostSettings(), Console(quiet=True))
    split = pipeline.describe_split(context, pipeline.split_network(context, Search()))
    arrays = pipeline.generate_folder(context, split, samples, tmp_path / "arrays")
    assert "long_mac" in kernels(arrays)
    folder = tmp_path / "binary"
    project = generate(folder, F4, model=model, samples=samples)
    assert "long_mac" not in kernels(project)
    assert generate(tmp_path / "other", F4, model=other, samples=samples, structure=folder).weights_counter == 2
    named = replace(context, settings=CostSettings(kernels=((1, "long_mac"),)))
    line = "--kernel 2=long_mac: its code depends on the weights.*name another kernel, or use --weights arrays"
    with pytest.raises(UsageError, match=line):
        pipeline.generate_folder(
            replace(named, programs=ProgramOptions(weights_counter=1)), split, samples, tmp_path / "named"
        )


def test_what_is_no_other_network_of_the_structure_is_refused(tmp_path: Path) -> None:
    _, folder = shared_binary(G0, F4)
    split, out = str(folder / "split.json"), str(tmp_path / "out")
    given = ("--split", split, "-s", str(example.CALIBRATION), "-o", out, "--structure-of")
    line = run("generate", str(other_model(tmp_path, 300, 400)), *given, str(folder), expect=BAD_INPUT)
    assert "its weights are too large for the formats of the structure" in line
    _, arrays = example.shared_example(G0, F4)
    line = run("generate", str(example.MODEL), *given, str(arrays), expect=BAD_INPUT)
    assert f"{arrays} has its weights in C arrays: generate it with --weights binary" in line
    line = run("generate", str(example.MODEL), *given, str(folder), "--kernel", "1=direct", expect=CHECK_FAILED)
    assert "the network has another structure than" in line
    assert "layer_01_conv.c" in line
    assert not Path(out).exists()


def test_what_takes_arrays_names_the_remedy(tmp_path: Path) -> None:
    _, folder = shared_binary(G0, F4)
    line = run("library", str(folder), "-o", str(tmp_path / "library"), expect=USAGE)
    assert "has its weights in binary files: generate it with --weights arrays" in line
    _, arrays = example.shared_example(G0, F4)
    rig = tmp_path / "rig.toml"
    rig.write_text("".join(f'[[board]]\nport = "/dev/{name}"\nserial_number = "{name}"\n' for name in ("a", "b")))
    line = run("flash", str(arrays), "--rig", str(rig), "--weights-only", "--dry-run", expect=BAD_INPUT)
    assert "has its weights in C arrays" in line
    options = ("--rig", str(rig), "--weights-only", "--dry-run", "--programmer")
    line = run("flash", str(folder), *options, "mass-storage", expect=USAGE)
    assert "--programmer mass-storage writes whole images: leave --weights-only out" in line
    for programmer, words in {
        "openocd": "flash write_image erase",
        "pyocd": "--base-address 0x0801",
        "st-flash": "--reset write",
        "cubeprogrammer": "-d ",
    }.items():
        assert words in run("flash", str(folder), *options, programmer)


def test_info_describes_a_file_and_names_what_is_wrong(tmp_path: Path) -> None:
    project, folder = shared_binary(G0, F4)
    path = project.boards[1].weights_path(folder)
    text = run("info", str(path))
    assert f"project_hash   {project.project_hash:08x}" in text
    assert "1 conv of the input: " in text
    cut = tmp_path / "weights.bin"
    cut.write_bytes(path.read_bytes()[:-4])
    assert f"{cut}: the weights file has" in run("info", str(cut), expect=BAD_INPUT)


@pytest.mark.slow
def test_boards_take_new_weights_without_their_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_openocd()
    monkeypatch.setattr(images, "RETRY_S", 0.01)
    project, folder = shared_binary(G0, G0)
    new = tmp_path / "new"
    generate(new, G0, G0, model=other_model(tmp_path), structure=folder)
    with debugged(tmp_path, G0, G0, baud=project.host_baud, wires=project_wires(project)) as boards:
        rig = str(boards.write_rig(tmp_path / "rig.toml"))
        only = ("flash", str(new), "--rig", rig, "--weights-only", "--json")
        line = run(*only, expect=TOOL)
        assert "no board was flashed" in line
        assert "flash it without --weights-only" in line
        run("flash", str(folder), "--rig", rig)
        before = [boards.contents(index) for index in range(2)]
        line = run("measure", str(new), *SAMPLES, "--rig", rig, expect=TOOL)
        assert "has another weights file (counter 1, CRC-32 " in line
        report = json.loads(run(*only))
        assert [board["verified"] for board in report["boards"]] == [True, True]
        for index, board in enumerate(project.boards):
            assert board.weights_file
            begin = board.weights_file.address - boards.boards[index].device.flash.start
            assert boards.contents(index)[:begin] == before[index][:begin]
        measured = json.loads(run("measure", str(new), *SAMPLES, "--rig", rig, "--json"))
        assert measured["output"]["bit_exact"]
        assert all(board["skipped"] for board in json.loads(run(*only))["boards"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (0, b"\xff" * 4, "its flash has no weights file"),
        (4, b"\x02", "its weights file has another version of the format"),
        (5, b"\x01", "its weights file is for another board of the project"),
        (12, b"\x00" * 4, "its weights file is for programs of another structure"),
        (8, b"\x00" * 4, "its weights file has another length than the program expects"),
        (100, b"\x5a\xa5", "its weights file has changed: its CRC-32 is wrong"),
    ],
)
def test_a_board_with_another_file_joins_no_run(offset: int, value: bytes, reason: str, tmp_path: Path) -> None:
    """The file is changed in the image, and the checksum of the code stays right."""
    project, source = shared_binary(G0, F4)
    folder = Path(shutil.copytree(source, tmp_path / "out"))
    elf, path = project.boards[0].elf(folder), project.boards[0].weights_path(folder)
    data, file = bytearray(elf.read_bytes()), path.read_bytes()
    begin = data.index(file)
    data[begin + offset : begin + offset + len(value)] = value
    if offset < 100:
        changed = data[begin : begin + len(file) - 4]
        own_crc = struct.unpack("<I", file[-4:])[0]
        assert zlib.crc32(changed) != own_crc
    elf.write_bytes(data)
    line = run("measure", str(folder), *SAMPLES, expect=TOOL)
    assert f"{reason}: write it again (`tinysplit update`, or `tinysplit flash --weights-only`)" in line
