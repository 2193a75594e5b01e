"""Measurements on virtual and real boards, as `tinysplit measure` makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from typing_extensions import override

from tinysplit.api.arguments import for_scripts, takes_settings
from tinysplit.api.given import GivenLabels, GivenPath, GivenSamples
from tinysplit.api.result import Result
from tinysplit.common.progress import Listener, console_of
from tinysplit.common.project_files import MEASUREMENT_NAME
from tinysplit.network.sample_files import sample_source
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.measure.outputs import OutputErrors
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.results.files import write_measurement


@dataclass(frozen=True)
class MeasureResult(Result):
    """What boards took, mean over samples, beside what was estimated: seconds, and joules of an inference alone.

    The period is that of streamed samples, None without them; measured energy is that of virtual boards, None where
    currents are not known. `top1` is the accuracy of the integer reference, None without labels, `agreement` the share
    of samples that it classifies as the float network does, None without classes. Of several outputs, both are those of
    the worst; `outputs` has the errors of each by its name.
    """

    l_s: float
    t_s: float
    latency_s: float  # from START to DONE
    estimated_latency_s: float
    period_s: float | None
    estimated_period_s: float
    energy_j: float | None
    estimated_energy_j: float | None
    n_samples: int  # with an output
    is_bit_exact: bool  # every sample has an output, equal to that of the integer reference
    top1: float | None
    agreement: float | None
    outputs: Mapping[str, OutputErrors]
    rig_note: str  # what the boards were
    report: MeasureReport = field(repr=False)

    @classmethod
    def of(cls, report: MeasureReport) -> Self:
        """Return a measurement as scripts get it."""
        measured, project = report.measured, report.project
        _, energy = report.energies[0]
        return cls(
            l_s=measured.l_s,
            t_s=measured.t_s,
            latency_s=report.measurement.i_s.mean,
            estimated_latency_s=report.estimated.i_s,
            period_s=report.stream.period_s if report.stream else None,
            estimated_period_s=project.estimated_period_s,
            energy_j=energy.energy_j(energy.measured),
            estimated_energy_j=energy.energy_j(energy.estimated),
            n_samples=report.outputs.samples,
            is_bit_exact=report.outputs.bit_exact and not report.failures,
            top1=report.outputs.worst.top1,
            agreement=report.outputs.worst.agreement,
            outputs=report.outputs.outputs,
            rig_note=report.measurement.rig.note,
            report=report,
        )

    @for_scripts
    def check(self) -> None:
        """Raise CheckFailedError unless all outputs are there and bit-exact, and all stacks have enough left."""
        self.report.check()

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit measure --json` prints."""
        return self.report.to_json()

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for L, T, I, the period of a stream, each layer and each cut: statistics beside the estimate."""
        return [time.to_json() for time in self.report.times]


@for_scripts
def measure(
    folder: GivenPath,
    samples: GivenSamples,
    settings: Annotated[MeasureSettings, takes_settings(MeasureSettings)] = MeasureSettings(),
    *,
    labels: GivenLabels = None,
    progress: Listener | None = None,
) -> MeasureResult:
    """Run samples on the boards of a folder that is built, as `tinysplit measure` does; `check` checks what came out.

    `samples` are a file, or an array: N x the shape of the network's input, and then `labels` may have the class of
    each; a dict has arrays of several inputs, or labels of several outputs, by their names. The folder keeps the
    measurement for `tinysplit report`. Raises InputError for a folder that is not built, samples that do not match or a
    rig file that cannot be used, UsageError for too few samples to stream, ToolError where a board or its port fails
    for good, or virtual boards cannot run.
    """
    settings.check()
    out, source = Path(folder), sample_source(samples, labels)
    report = measure_folder(Project.read(out), out, source, settings, console_of(progress))
    write_measurement(out / MEASUREMENT_NAME, report)
    return MeasureResult.of(report)
