"""Options of commands that measure."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tinysplit.cli.basic_options import Force, Heading
from tinysplit.cli.options import Rig
from tinysplit.common.choices import DEFAULT_SAMPLE_COUNT, VIRTUAL

if TYPE_CHECKING:
    from tinysplit_hil.measure.measure_folder import MeasureSettings
    from tinysplit_hil.results.files import ResultFiles

SampleCount = Annotated[
    int,
    typer.Option(
        "--sample-count", help="Number of samples to run on the boards.", min=1, rich_help_panel=Heading.MEASUREMENT
    ),
]
Pipelined = Annotated[
    bool,
    typer.Option(
        "--pipelined",
        help="Stream the samples, several in flight, and measure the period: the time between two outputs. The first "
        "three samples also run one at a time, for the times of layers and transfers.",
        rich_help_panel=Heading.MEASUREMENT,
    ),
]
FailFast = Annotated[
    bool,
    typer.Option(
        "--fail-fast",
        help="Stop at the first sample that fails. By default the boards are reset and the next follows.",
        rich_help_panel=Heading.MEASUREMENT,
    ),
]
IdealMemory = Annotated[
    bool,
    typer.Option(
        "--ideal-memory",
        help="Virtual boards whose memory never makes the core wait: no flash wait states, no cache misses.",
        rich_help_panel=Heading.MEASUREMENT,
    ),
]
Vcd = Annotated[
    Path | None,
    typer.Option(
        "--vcd",
        help="VCD file to write: the markers of virtual boards (`generate --markers`).",
        rich_help_panel=Heading.RESULT_FILES,
    ),
]
SaveFile = Annotated[
    Path | None,
    typer.Option(
        "--save",
        help="Write the measurement to a JSON file, which `tinysplit compare` reads.",
        rich_help_panel=Heading.RESULT_FILES,
    ),
]
CsvFile = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        help="Write all times and their statistics over samples to a CSV file.",
        rich_help_panel=Heading.RESULT_FILES,
    ),
]
JunitFile = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        help="Write JUnit XML for continuous integration: a test case for each sample, and the median of each time.",
        rich_help_panel=Heading.RESULT_FILES,
    ),
]
TimelineOption = Annotated[
    bool,
    typer.Option(
        "--timeline",
        help="Run up to three more inferences with aligned clocks, and print what boards and links do when, estimated "
        "above measured, and T as wire, driver and waiting time.",
        rich_help_panel=Heading.MEASUREMENT,
    ),
]
TimelineSvg = Annotated[
    Path | None,
    typer.Option("--timeline-svg", help="Write this timeline as a picture.", rich_help_panel=Heading.RESULT_FILES),
]
TimelineTrace = Annotated[
    Path | None,
    typer.Option(
        "--timeline-trace",
        help="Write it as a trace, which Perfetto and chrome://tracing open.",
        rich_help_panel=Heading.RESULT_FILES,
    ),
]


@dataclass(frozen=True)
class MeasureOptions:
    """Options of `measure` and `run`."""

    rig: Rig = VIRTUAL
    sample_count: SampleCount = DEFAULT_SAMPLE_COUNT
    pipelined: Pipelined = False
    fail_fast: FailFast = False
    ideal_memory: IdealMemory = False
    vcd: Vcd = None
    save: SaveFile = None
    csv: CsvFile = None
    junit: JunitFile = None
    timeline: TimelineOption = False
    timeline_svg: TimelineSvg = None
    timeline_trace: TimelineTrace = None
    force: Force = False

    @property
    def settings(self) -> "MeasureSettings":
        """The settings. Raises UsageError for real boards with ideal memory."""
        from tinysplit_hil.measure.measure_folder import MeasureSettings

        settings = MeasureSettings(
            rig=self.rig,
            sample_count=self.sample_count,
            is_pipelined=self.pipelined,
            fail_fast=self.fail_fast,
            has_ideal_memory=self.ideal_memory,
            vcd=self.vcd,
            has_timeline=bool(self.timeline or self.timeline_svg or self.timeline_trace),
        )
        settings.check()
        return settings

    @property
    def files(self) -> "ResultFiles":
        """The files to write. The errors are those of `ResultFiles.check`."""
        from tinysplit_hil.results.files import ResultFiles

        files = ResultFiles(
            json=self.save, csv=self.csv, junit=self.junit, svg=self.timeline_svg, trace=self.timeline_trace
        )
        files.check(self.vcd, force=self.force)
        return files
