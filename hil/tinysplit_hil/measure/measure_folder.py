"""Measures a generated folder on a rig: some samples one by one, then a stream of them, and the outputs of all."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console

from tinysplit.build.elf import compiler_of
from tinysplit.build.folder import note_outdated
from tinysplit.common.choices import DEFAULT_SAMPLE_COUNT, VIRTUAL
from tinysplit.common.file_schema import in_range
from tinysplit.common.progress import references, steps
from tinysplit.common.project_files import MODEL_NAME
from tinysplit.common.settings_class import settings_class
from tinysplit.network.ends import by_name
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.sample_files import SampleSource
from tinysplit.network.samples import Samples, load_samples
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.quantize.accuracy import FloatScores
from tinysplit.quantize.sample_warnings import print_chance_warnings
from tinysplit.settings.measurement import SAMPLE_COUNT
from tinysplit_hil.measure.boards import Boards
from tinysplit_hil.measure.measure import check_sample_count, measure
from tinysplit_hil.measure.outputs import check_outputs
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.measure.stream import Stream, check_length, check_stream, stream
from tinysplit_hil.measure.timeline.layer_parts import record_parts
from tinysplit_hil.measure.timeline.report import record_timeline
from tinysplit_hil.rig.devices import read_devices
from tinysplit_hil.rig.rig import VirtualSettings, check_rig, open_rig

SAMPLES_BEFORE_STREAM = 3  # run one at a time, for the times of layers and cuts


@settings_class
@dataclass(frozen=True, kw_only=True)
class MeasureSettings:
    """How boards are measured: where, how many samples, and whether these are streamed.

    Virtual boards have the memory of the boards, or an ideal one without wait states. With `fail_fast` the first sample
    that fails ends the measurement. For a timeline, some inferences are recorded beside the samples.
    """

    rig: str = VIRTUAL
    sample_count: Annotated[int, in_range(SAMPLE_COUNT)] = DEFAULT_SAMPLE_COUNT
    is_pipelined: bool = False
    fail_fast: bool = False
    has_ideal_memory: bool = False
    timing: Path | None = None  # file with rules of virtual boards
    vcd: Path | None = None  # file for the levels of the virtual boards' markers
    has_timeline: bool = False

    def check(self) -> None:
        """Raise UsageError for real boards with what only virtual ones have."""
        self.virtual.check(self.rig)

    @property
    def virtual(self) -> VirtualSettings:
        """What only virtual boards have."""
        return VirtualSettings(self.has_ideal_memory, self.timing, self.vcd)


def measure_folder(
    project: Project, folder: Path, samples: Path | SampleSource, settings: MeasureSettings, messages: Console
) -> MeasureReport:
    """Measure a folder that was generated and built before.

    Raises InputError where it is not as `measure` needs it or the rig or timing file cannot be used, ToolError where
    virtual boards cannot run.
    """
    check_rig(settings.rig)
    settings.virtual.check_boards([board.name for board in project.boards])
    project.check_measurable(folder)
    note_outdated(project, folder, messages)
    quantized = read_quantized(folder, project)
    return measure_boards(project, folder, quantized, load_samples(samples, quantized.graph), settings, messages)


def measure_boards(
    project: Project,
    folder: Path,
    quantized: QuantizedGraph,
    samples: Samples,
    settings: MeasureSettings,
    messages: Console,
) -> MeasureReport:
    """Run the first samples on the boards and compare every output with the integer reference.

    Raises InputError for a rig file that cannot be used, ToolError when a board or its port fails for good, UsageError
    for too few samples to stream.
    """
    inputs = quantize_input(quantized, samples.x[: settings.sample_count])
    alone = inputs[: max(SAMPLES_BEFORE_STREAM, len(project.copies))] if settings.is_pipelined else inputs
    streamed: Stream | None = None
    with open_rig(settings.rig, project, folder, settings.virtual) as rig:
        with steps(messages, f"running on {rig.kind} boards", len(alone)) as advance:
            measurement = measure(project, rig, alone, advance, fail_fast=settings.fail_fast)
        if settings.is_pipelined:
            with steps(messages, f"streaming through {rig.kind} boards", len(inputs)) as advance:
                streamed = stream(project, rig, inputs, advance, fail_fast=settings.fail_fast)
        parts = record_parts(project, rig, inputs, messages, fail_fast=settings.fail_fast)
        timeline = None
        if settings.has_timeline:
            timeline = record_timeline(project, rig, inputs, messages, is_pipelined=settings.is_pipelined)
        stacks = Boards(project, rig).stacks()
    with references(messages, len(samples.x)):
        integers = run_integer(quantized, samples.x)
        floats = run_float(folder / MODEL_NAME, samples.x)
    scores = {
        name: values.reshape(len(floats), -1).astype(np.float64)
        for name, values in by_name(quantized.graph.outputs, floats).items()
    }
    print_chance_warnings(FloatScores(samples, scores), messages)
    indices, outputs = measurement.samples, measurement.outputs
    if streamed:
        indices = indices + streamed.samples
        outputs = np.concatenate([outputs, streamed.outputs])
    check = check_outputs(quantized, indices, outputs, integers, floats, samples.labels)
    devices = read_devices(settings.rig, project.numbered_names)
    compilers = _compilers(project, folder)
    return MeasureReport(project, measurement, check, streamed, timeline, parts, stacks, devices, compilers)


def _compilers(project: Project, folder: Path) -> Mapping[int, str]:
    """Return the compilers of the programs, by number; boards may run programs that are not there any more."""
    elfs = {board.number: board.elf(folder) for board in project.boards}
    return {number: compiler_of(elf) for number, elf in elfs.items() if elf.is_file()}


def check_sample_numbers(samples: Samples, settings: MeasureSettings, n_boards: int) -> None:
    """Raise UsageError for too few samples, whatever the split over at least `n_boards` is."""
    if settings.is_pipelined:
        check_length(min(settings.sample_count, len(samples.x)), n_boards)


def check_samples(project: Project, samples: Samples, settings: MeasureSettings) -> None:
    """Raise UsageError for what cannot be measured, as too few samples, before the projects are built for it."""
    check = check_stream if settings.is_pipelined else check_sample_count
    check(project, min(settings.sample_count, len(samples.x)))
