"""Options of commands that measure."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tinysplit.cli.basic_options import Force
from tinysplit.cli.option import option
from tinysplit.cli.options import Rig
from tinysplit.common.choices import DEFAULT_SAMPLE_COUNT, VIRTUAL
from tinysplit.settings.measurement import FAIL_FAST, IDEAL_MEMORY, PIPELINED, SAMPLE_COUNT, TIMELINE, TIMING
from tinysplit.settings.result_files import CSV, JUNIT, SAVE, TIMELINE_SVG, TIMELINE_TRACE, VCD

if TYPE_CHECKING:
    from tinysplit_hil.measure.measure_folder import MeasureSettings
    from tinysplit_hil.results.files import ResultFiles

SampleCount = Annotated[int, option(SAMPLE_COUNT)]
Pipelined = Annotated[bool, option(PIPELINED)]
FailFast = Annotated[bool, option(FAIL_FAST)]
IdealMemory = Annotated[bool, option(IDEAL_MEMORY)]
Timing = Annotated[Path | None, option(TIMING)]
Vcd = Annotated[Path | None, option(VCD)]
SaveFile = Annotated[Path | None, option(SAVE)]
CsvFile = Annotated[Path | None, option(CSV)]
JunitFile = Annotated[Path | None, option(JUNIT)]
TimelineOption = Annotated[bool, option(TIMELINE)]
TimelineSvg = Annotated[Path | None, option(TIMELINE_SVG)]
TimelineTrace = Annotated[Path | None, option(TIMELINE_TRACE)]


@dataclass(frozen=True)
class MeasureOptions:
    """Options of `measure` and `run`."""

    rig: Rig = VIRTUAL
    sample_count: SampleCount = DEFAULT_SAMPLE_COUNT
    pipelined: Pipelined = False
    fail_fast: FailFast = False
    ideal_memory: IdealMemory = False
    timing: Timing = None
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
        """The settings. Raises UsageError for real boards with what only virtual ones have."""
        from tinysplit_hil.measure.measure_folder import MeasureSettings

        settings = MeasureSettings(
            rig=self.rig,
            sample_count=self.sample_count,
            is_pipelined=self.pipelined,
            fail_fast=self.fail_fast,
            has_ideal_memory=self.ideal_memory,
            timing=self.timing,
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
