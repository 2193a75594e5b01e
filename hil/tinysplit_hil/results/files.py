"""A measurement as files: JSON for `tinysplit compare`, CSV for a spreadsheet, JUnit XML for continuous integration."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

from tinysplit.common.errors import UsageError
from tinysplit.common.output_file import VERSION_KEY, check_output_file, write_whole_file
from tinysplit.common.texts.quoting import csv_cell, xml_text
from tinysplit_hil.measure.report import MeasureReport

_XML = "<?xml version='1.0' encoding='utf-8'?>\n"


@dataclass(frozen=True, kw_only=True)
class ResultFiles:
    """Paths of files to write, None for those that nobody wants."""

    json: Path | None = None
    csv: Path | None = None
    junit: Path | None = None
    svg: Path | None = None
    trace: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them."""
        return tuple(path for path in (self.json, self.csv, self.junit, self.svg, self.trace) if path)

    def check(self, *others: Path | None, force: bool = False) -> None:
        """Raise UsageError for one name twice, and what `check_output_file` does, before anything is measured.

        `others` are further files that are written.
        """
        paths = [*self.paths, *(path for path in others if path)]
        for path in paths:
            if paths.count(path) > 1:
                raise UsageError(f"{path} is to be two files: give each a name of its own")
            check_output_file(path, force=force)

    def write(self, report: MeasureReport) -> None:
        """Write the files. Raises InputError where one cannot be written."""
        if self.json:
            write_measurement(self.json, report)
        if self.csv:
            write_whole_file(self.csv, _csv(report))
        if self.junit:
            write_whole_file(self.junit, f"{_XML}{ET.tostring(_junit(report), encoding='unicode')}\n")
        if report.timeline:
            report.timeline.write(self.svg, self.trace)


def write_measurement(path: Path, report: MeasureReport) -> None:
    """Write the measurement file. Raises InputError where it cannot be written."""
    write_whole_file(path, json.dumps(report.to_json(), indent=2) + "\n")


def _csv(report: MeasureReport) -> str:
    """Return a row for each time, in seconds."""
    rows = [{**time.to_json(), VERSION_KEY: report.project.tinysplit_version} for time in report.times]
    cells = [{key: csv_cell(each) if isinstance(each, str) else each for key, each in row.items()} for row in rows]
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells)
    return text.getvalue()


def _junit(report: MeasureReport) -> ET.Element:
    """Return test cases of samples, which fail without a bit-exact output, of stacks and of median times."""
    suite = ET.Element("testsuite", name=xml_text(f"tinysplit measure {report.project.model.name}"))
    properties = ET.SubElement(suite, "properties")
    rig = report.measurement.rig
    about = {VERSION_KEY: report.project.tinysplit_version, "rig": rig.note}
    for name, value in (*about.items(), ("project_hash", f"{report.project.project_hash:08x}")):
        ET.SubElement(properties, "property", name=name, value=xml_text(value))
    for time in report.times:
        case = ET.SubElement(suite, "testcase", classname="times", name=xml_text(time.title))
        case.set("time", f"{time.seconds.median:.9f}")
    checks = {("outputs", f"sample {sample + 1}"): reason for sample, reason in _samples(report)}
    checks |= {("memory", f"stack of board {number}"): reason for number, reason in report.stack_problems.items()}
    for (kind, name), reason in checks.items():
        case = ET.SubElement(suite, "testcase", classname=kind, name=name)
        if reason:
            ET.SubElement(case, "failure", message=xml_text(reason))
    cases = list(suite.iter("testcase"))
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    return suite


def _samples(report: MeasureReport) -> Iterator[tuple[int, str]]:
    """Yield each sample that was run, from 0, and why it failed, "" where its output is bit-exact."""
    reasons = dict.fromkeys(report.measurement.samples + (report.stream.samples if report.stream else ()), "")
    reasons |= dict.fromkeys(report.outputs.differing, "the output differs from the integer reference")
    reasons |= {failure.sample: failure.reason for failure in report.failures}
    yield from sorted(reasons.items())
