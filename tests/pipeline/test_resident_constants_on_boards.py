"""Constants in RAM from the start on virtual boards: bit-exact, in the RAM and the time that were predicted."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from models.onnx_builder import OnnxBuilder
from tinysplit import pipeline
from tinysplit.boards.board import CodeMemory
from tinysplit.build.folder import build_folder
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.common.choices import Optimize
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import ConstantsIn, Project
from tinysplit.run import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder

pytestmark = pytest.mark.slow

QUIET = Console(quiet=True)
SIZES = (320, 300, 310, 160)  # the last layer fits the RAM behind the variables, the others lie elsewhere


def large_layers(folder: Path) -> Path:
    rng, builder = np.random.default_rng(5), OnnxBuilder((1, SIZES[0]))
    for inputs, outputs in pairwise(SIZES):
        weights = rng.normal(size=(outputs, inputs)) / np.sqrt(inputs)
        builder.node("Gemm", builder.constant(weights), builder.constant(rng.normal(size=outputs)), transB=1)
        builder.node("Relu")
    return builder.save(folder)


@pytest.mark.parametrize(("board", "code_memory"), [("nucleo_l4r5zi", CodeMemory.RAM), ("nucleo_h743zi", None)])
def test_layers_that_read_weights_once_do_not_wait_for_flash(
    board: str, code_memory: CodeMemory | None, tmp_path: Path
) -> None:
    model, samples = large_layers(tmp_path), tmp_path / "samples.npz"
    np.savez(samples, x=np.random.default_rng(6).normal(size=(4, SIZES[0])).astype(np.float32))
    context = Context.load(model, (board,), CostSettings(code_memory=code_memory), QUIET)
    split = pipeline.split_network(context, Search())
    project = pipeline.generate_folder(context, pipeline.describe_split(context, split), samples, tmp_path / "out")
    report = build_folder(project, tmp_path / "out", QUIET)
    report.check()
    assert {layer.memory.constants_in for layer in project.layers} == {ConstantsIn.RAM}
    (script,) = (tmp_path / "out").rglob("*.ld")
    assert [script.read_text().count(word) for word in (") /* of layers that would wait", ".weights_far 0x")] == [1, 1]
    measured = measure_folder(project, tmp_path / "out", samples, MeasureSettings(sample_count=2), QUIET)
    assert measured.outputs.bit_exact
    estimated_s = sum(layer.estimated_s for layer in project.layers)
    assert measured.measurement.l_s.median == pytest.approx(estimated_s, rel=0.05)
    seconds = sum(layer.seconds[0] for layer in split.problem.layers)
    assert seconds == pytest.approx(estimated_s, rel=0.05)
    least_ram = replace(context, settings=replace(context.settings, optimize=Optimize.RAM))
    in_flash = pipeline.split_network(least_ram, Search())
    assert sum(layer.seconds[0] for layer in in_flash.problem.layers) > 1.1 * seconds


def test_costs_of_constants_in_a_file_are_those_of_flash(tmp_path: Path) -> None:
    model, samples = large_layers(tmp_path), tmp_path / "samples.npz"
    np.savez(samples, x=np.random.default_rng(6).normal(size=(4, SIZES[0])).astype(np.float32))
    request = RunRequest(
        model=model,
        boards=("nucleo_l4r5zi",),
        samples=samples,
        out=tmp_path / "out",
        settings=CostSettings(),
        programs=ProgramOptions(weights_counter=1),
    )
    report = run(request, QUIET)
    project = Project.read(tmp_path / "out")
    assert {layer.memory.constants_in for layer in project.layers} == {ConstantsIn.FLASH}
    estimated_s = report.split.l_s
    assert estimated_s == pytest.approx(project.estimated_l_s, rel=0.02)
    assert estimated_s == pytest.approx(report.measurement.measurement.l_s.median, rel=0.05)
