"""Projects for tests: generated and built once in a session, and measured on the boards of the rig."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from tinysplit import pipeline
from tinysplit.boards.board import ClockSource
from tinysplit.boards.board_files import use_folder_beside
from tinysplit.build.folder import build_folder
from tinysplit.common.choices import DEFAULT_SAMPLE_COUNT
from tinysplit.common.errors import TinysplitError, UsageError
from tinysplit.common.texts.console import PlainConsole
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.ends import by_name
from tinysplit.network.integer_reference import real_outputs
from tinysplit.network.sample_files import GivenSamples, SampleSource, sample_source
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.slices.settings import Search
from tinysplit_hil.bench.flash import flash_rig
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_boards
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.pytest_plugin.rig import RigOfTests

P = ParamSpec("P")
T = TypeVar("T")


def _without_our_frames(call: Callable[P, T]) -> Callable[P, T]:
    """Let a user's errors end the traceback in the test: their one line says all."""

    @wraps(call)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return call(*args, **kwargs)
        except TinysplitError as error:
            raise error.with_traceback(None) from None

    return wrapper


@dataclass(frozen=True, eq=False)
class Measured:
    """What boards did with samples.

    `outputs`: N x output shape of the ONNX file, real values, or of several outputs N x all elements; `integers`: the
    same as the boards compute them; `by_name`: the real values of each output. Times are in seconds, means over the
    samples: L of all layers, T of all transfers, and I from input to output.
    """

    report: MeasureReport  # all that `tinysplit measure` prints
    outputs: NDArray[np.float64]
    integers: NDArray[np.integer]
    by_name: dict[str, NDArray[np.float64]]
    l_s: float
    t_s: float
    i_s: float

    @property
    def estimated_i_s(self) -> float:
        """I in seconds as the cost model estimates it."""
        return self.report.estimated.i_s

    @property
    def is_bit_exact(self) -> bool:
        """Whether every sample has an output, equal to that of the integer reference."""
        return self.report.outputs.bit_exact and not self.report.failures


class ProjectOnRig:
    """A project that is built, for the boards of a rig."""

    def __init__(self, project: Project, folder: Path, rig: RigOfTests) -> None:
        self.project = project
        self.folder = folder
        self.rig = rig

    @_without_our_frames
    def measure(
        self, samples: GivenSamples, count: int = DEFAULT_SAMPLE_COUNT, *, is_pipelined: bool = False
    ) -> Measured:
        """Run the first `count` samples on the boards and return what came out.

        Real boards that do not run this project are flashed first. Raises the errors of `tinysplit flash` and
        `measure`, but none for outputs that are not bit-exact.
        """
        console = PlainConsole(stderr=True)  # pytest shows it with a test that fails
        quantized = read_quantized(self.folder, self.project)
        loaded = load_samples(sample_source(samples), quantized.graph).first(count)
        flash_rig(self.project, self.folder, self.rig.spec, self.rig.programmer, console)
        settings = MeasureSettings(rig=self.rig.spec, sample_count=count, is_pipelined=is_pipelined)
        report = measure_boards(self.project, self.folder, quantized, loaded, settings, console)
        integers = report.measurement.outputs[:, quantized.graph.output_order]
        shape = (len(integers), *quantized.graph.output_shape)
        outputs = real_outputs(quantized, integers)
        named = by_name(quantized.graph.outputs, outputs)
        return Measured(report, outputs.reshape(shape), integers.reshape(shape), named, *report.measured.values)


class ProjectFactory:
    """Makes projects: each is built once in a session."""

    def __init__(self, rig: RigOfTests, temporary: pytest.TempPathFactory) -> None:
        self._rig = rig
        self._temporary = temporary
        self._built: dict[str, Path] = {}  # folders by what they were made from

    @_without_our_frames
    def __call__(
        self,
        source: str | Path,
        boards: Sequence[str] = (),
        calibration: GivenSamples | None = None,
        *,
        clock: str = ClockSource.HSI,
        **settings: Any,  # noqa: ANN401 (CostSettings has their types)
    ) -> ProjectOnRig:
        """Return the project of the generated folder `source`, or of the ONNX file `source` split over `boards`.

        `calibration` are the samples that quantize an ONNX file. `settings` are those of `tinysplit split`, such as
        bits=16, baud=1_000_000 or use_all=True. Raises the errors of `tinysplit split`, `generate` and `build`.
        """
        if not boards:
            folder = Path(source)
            project = Project.read(folder)
            project.check_measurable(folder)
            build_folder(project, folder, PlainConsole(stderr=True)).check()
        else:
            if calibration is None:
                raise UsageError(f"{source} has to be quantized: give calibration samples")
            key = repr((Path(source).resolve(), boards, _key(calibration), clock, settings))
            if key not in self._built:
                context = _context(Path(source), boards, clock, settings)
                self._built[key] = self._generate(context, sample_source(calibration))
            folder = self._built[key]
            project = Project.read(folder)
        return ProjectOnRig(project, folder, self._rig)

    def _generate(self, context: Context, calibration: SampleSource) -> Path:
        """Return a new folder with the project, built. Raises CheckFailedError where it does not fit the boards."""
        folder = self._temporary.mktemp("tinysplit") / "project"
        reduced = context.of_quantized_file()
        split = pipeline.describe_split(reduced, pipeline.split_network(reduced, Search()))
        project = pipeline.generate_folder(context, split, calibration, folder)
        build_folder(project, folder, context.messages).check()
        return folder


def _context(model: Path, boards: Sequence[str], clock: str, settings: dict[str, Any]) -> Context:
    messages = PlainConsole(stderr=True)
    use_folder_beside(model.parent)
    return Context.load(model, boards, CostSettings(**settings), messages, ClockSource(clock))


def _key(samples: GivenSamples) -> object:
    if isinstance(samples, Mapping):
        return tuple((name, _key(array)) for name, array in samples.items())
    return (samples.shape, samples.tobytes()) if isinstance(samples, np.ndarray) else Path(samples).resolve()
