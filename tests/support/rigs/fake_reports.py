"""Reports of measurements on fake boards."""

from dataclasses import replace

from rigs.fake_rig import FakeRig, make_inputs, make_project
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.measure.outputs import OutputCheck, OutputErrors
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.measure.statistics import TimeStatistics

GOOD = OutputCheck(
    samples=3,
    differing=(),
    reference_samples=360,
    outputs={"y": OutputErrors(top1=0.975, float_top1=0.9778, agreement=0.99, rmse=0.1, mae=0.05, l2r=0.02)},
)


def make_report(outputs: OutputCheck = GOOD, macc: int = 100_000, n_samples: int = 3) -> MeasureReport:
    project = make_project(macc=macc)
    return MeasureReport(project, measure(project, FakeRig.make().rig, make_inputs(n_samples)), outputs)


def with_first_layer(report: MeasureReport, factor: float, noise: float = 0.0) -> MeasureReport:
    """Return the report with a first layer that lasts `factor` times as long, in turn less and more by `noise`."""
    first, *others = report.measurement.layers
    values = [value * factor * (1 + noise * (n % 3 - 1)) for n, value in enumerate(first.seconds.values)]
    layers = (replace(first, seconds=TimeStatistics.of(values)), *others)
    return replace(report, measurement=replace(report.measurement, layers=layers))
