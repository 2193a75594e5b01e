"""Measurements that are compared, as `tinysplit compare` does, and shown, as `tinysplit report` does."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import override

from tinysplit.api.arguments import for_scripts
from tinysplit.api.given import GivenPath
from tinysplit.api.result import Result
from tinysplit.common.output_file import check_output_file
from tinysplit.common.project_files import REPORT_NAME
from tinysplit_hil.html_report.page import write_report
from tinysplit_hil.html_report.sources import Sources
from tinysplit_hil.results.compare import DEFAULT_THRESHOLD_PERCENT, Comparison, compare_files


@dataclass(frozen=True)
class CompareResult(Result):
    """What changed between two measurements: names of times, and lines about outputs and what was measured."""

    slower: tuple[str, ...]
    faster: tuple[str, ...]
    different: tuple[str, ...]  # outputs that became wrong or other ones
    notes: tuple[str, ...]  # why times may differ by themselves
    comparison: Comparison = field(repr=False)

    @for_scripts
    def check(self) -> None:
        """Raise CheckFailedError where something became slower or different."""
        self.comparison.check()

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit compare --json` prints."""
        return self.comparison.to_json()

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each time that both have."""
        return [time.to_json() for time in self.comparison.times]


@for_scripts
def compare(
    before: GivenPath,
    after: GivenPath,
    *,
    threshold: Annotated[float, Field(ge=0)] = DEFAULT_THRESHOLD_PERCENT,
) -> CompareResult:
    """Compare two measurement files of a network, as `tinysplit compare` does: `measurement.json` of a folder is one.

    A median counts as changed above `threshold` percent, where the intervals of both are apart. Raises InputError for
    files that cannot be read, or that are of different networks.
    """
    found = compare_files(Path(before), Path(after), threshold)
    faster = tuple(time.after.title for time in found.changed if time not in found.slower)
    slower = tuple(time.after.title for time in found.slower)
    return CompareResult(slower, faster, found.different, found.notes, found)


@for_scripts
def report(
    folder: GivenPath, out: GivenPath = REPORT_NAME, *, measurement: GivenPath | None = None, force: bool = False
) -> Path:
    """Write the report of a generated folder as one HTML file, as `tinysplit report` does, and return its path.

    `measurement` is a measurement file in place of that of the folder. Raises InputError for another folder, a
    measurement of another program, and a file `out` that is not ours, unless `force`.
    """
    check_output_file(Path(out), force=force)
    write_report(Path(out), Sources.read(Path(folder), Path(measurement) if measurement else None))
    return Path(out)
