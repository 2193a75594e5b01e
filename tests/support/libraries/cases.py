"""Folders of split networks of every kind, with the programs of their libraries."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from rich.console import Console

from commands.command_line import run
from example_folders import example
from libraries.processes import EXAMPLE, Boards, compile_libraries, program
from models.onnx_builder import OnnxBuilder, conv
from session.shared_folder import made_once
from tinysplit.boards.catalog import load_all
from tinysplit.codegen.projects import generate
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.staging import Stages
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan import stages
from tinysplit.plan.plan import make_plan
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.quantize.quantize_model import quantize_model

G071, F401 = "nucleo_g071rb", "nucleo_f401re"
BLOCKING = Path(__file__).parents[2] / "c" / "library_blocking.c"
MAINS = (EXAMPLE, BLOCKING)
QUIET = Console(quiet=True)


def without_stages(_: int, in_tensors: list[int], out_tensors: list[int], *__: int, **___: bool) -> Stages:
    """Return that every transfer blocks."""
    return Stages((False,) * len(in_tensors), (False,) * len(out_tensors), input=False, output=False, size_bytes=0)


def assigned(
    boards: tuple[str, ...],
    assignment: tuple[int, ...],
    out: Path,
    *,
    mode: HandOffMode = HandOffMode.WHOLE,
    staged: bool = True,
) -> None:
    """Generate a folder for convolutions, a pool and a fully connected layer on these boards, with samples beside."""
    out.mkdir()
    builder = OnnxBuilder(["n", 3, 20, 20])
    conv(builder, 8, 3, pads=[1, 1, 1, 1])
    builder.node("Relu")
    conv(builder, 16, 8)
    builder.node("Relu")
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    conv(builder, 8, 16, pads=[1, 1, 1, 1])
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(np.random.default_rng(1).normal(size=(8 * 81, 5)) / 20))
    model, x = builder.save(out), np.random.default_rng(0).normal(size=(6, 3, 20, 20)).astype(np.float32)
    settings, graph, loaded = CostSettings(baud=921600, hand_off=mode), import_model(model), load_all(boards)
    quantized = quantize_model(graph, model, Samples(x), settings.bits, QUIET).quantized
    problem = make_problem(shipped_table(), graph, loaded, settings)
    links = settings.link_settings_on(loaded)
    with pytest.MonkeyPatch.context() as patch:
        if not staged:
            patch.setattr(stages, "choose_stages", without_stages)
        plan = make_plan(shipped_table(), graph, settings.bits, loaded, problem, assignment, links)
    bauds = (links.baud, settings.host_baud_on(loaded))
    generate(quantized, (plan,), bauds, len(x), onnx.load(model), out / "out")
    np.savez(out / "samples.npz", x=x)


def split(boards: tuple[str, ...], *options: str, out: Path) -> None:
    """Split and generate the example by the command line, with samples beside."""
    out.mkdir()
    names = [part for board in boards for part in ("--board", board)]
    model, file = str(example.MODEL), str(out / "split.json")
    run("split", model, *names, "--use-all", "--baud", "3000000", *options, "-o", file)
    bits = options[options.index("--bits") :] if "--bits" in options else ()
    run("generate", model, "--split", file, *bits, "-s", str(example.CALIBRATION), "-o", str(out / "out"))
    with np.load(example.SAMPLES) as samples:
        np.savez(out / "samples.npz", x=samples["x"][:6])


PAIR = (G071, F401)
ROWS = partial(assigned, mode=HandOffMode.STREAMED)
FOLDERS: dict[str, Callable[..., None]] = {
    "two": partial(assigned, PAIR, (0, 0, 1, 1, 1)),
    "back": partial(assigned, PAIR, (0, 1, 1, 0, 0)),
    "three": partial(assigned, (*PAIR, G071), (2, 2, 0, 0, 1)),
    "four": partial(ROWS, (*PAIR, *PAIR), (0, 1, 2, 2, 3)),
    "streamed": partial(ROWS, PAIR, (0, 1, 1, 1, 1)),
    "unstaged": partial(assigned, PAIR, (0, 0, 1, 0, 0), staged=False),
    "unstaged rows": partial(ROWS, PAIR, (0, 1, 1, 0, 0), staged=False),
    "rows": partial(split, (G071, G071), "--slices", "rows"),
    "channels": partial(split, (G071, G071, G071), "--slices", "channels", "--output-at", "2"),
    "16 bits": partial(split, PAIR, "--slices", "none", "--bits", "16"),
}


class Case:
    """A folder, programs of its libraries, inputs and the outputs of the integer reference."""

    def __init__(self, name: str, main: Path = EXAMPLE) -> None:
        """Read what `made_once` has made."""

        def make(out: Path) -> None:
            FOLDERS[name](out=out)
            project = Project.read(out / "out")
            compile_libraries(project, out / "out", out, *MAINS)

        out = made_once(f"split-library-{name}".replace(" ", "-"), make)
        self.folder = out / "out"
        self.project = Project.read(self.folder)
        self.programs = {number: program(out, main, number) for number in self.project.copies[0]}
        quantized = read_quantized(self.folder, self.project)
        with np.load(out / "samples.npz") as samples:
            x = samples["x"]
        self.inputs = quantize_input(quantized, x)
        self.outputs = run_integer(quantized, x).reshape(len(x), -1)

    def output(self, boards: Boards, within_s: float = 60) -> IntArray | None:
        """Return the next output."""
        return boards.take(self.outputs.shape[1], self.outputs.dtype, within_s)

    def check(self, boards: Boards) -> None:
        """Give all inputs at once, and compare the outputs."""
        boards.give(self.inputs)
        for expected in self.outputs:
            output = self.output(boards)
            assert output is not None
            assert np.array_equal(output, expected)
