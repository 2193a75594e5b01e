"""A measurement as files: JSON for `tinysplit compare`, CSV for a spreadsheet, JUnit XML for continuous integration."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tinysplit.common.errors import UsageError
from tinysplit.common.output_folder import check_output_file
from tinysplit_hil.report import MeasureReport

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, kw_only=True)
class ResultFiles:
    """Paths of files to write, None for those that nobody wants."""

    json: Path | None = None
    csv: Path | None = None
    junit: Path | None = None
    svg: Path | None = None
    trace: Path | None = None

    def check(self, *others: Path | None) -> None:
        """Raise UsageError where a file, or one of `others`, has no folder, before anything is measured for it."""
        paths = [path for path in (self.json, self.csv, self.junit, self.svg, self.trace, *others) if path]
        for path in paths:
            if paths.count(path) > 1:
                raise UsageError(f"{path} is to be two files: give each a name of its own")
            check_output_file(path)

    def write(self, report: MeasureReport) -> None:
        """Write the files. Raises OSError where one cannot be written."""
        if self.json:
            self.json.write_text(json.dumps(report.to_json(), indent=2) + "\n", encoding="utf-8")
        if self.csv:
            _write_csv(report, self.csv)
        if self.junit:
            _junit(report).write(self.junit, encoding="utf-8", xml_declaration=True)
        if report.timeline:
            report.timeline.write(self.svg, self.trace)


def _write_csv(report: MeasureReport, path: Path) -> None:
    """Write a row for each time, in seconds."""
    rows = [time.to_json() for time in report.times]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _junit(report: MeasureReport) -> "ET.ElementTree[ET.Element]":
    """Return a test case for each sample, which fails without a bit-exact output, and one with each median time."""
    suite = ET.Element("testsuite", name=f"tinysplit measure {report.project.model.name}")
    properties = ET.SubElement(suite, "properties")
    rig = report.measurement.rig
    for name, value in (("rig", rig.note), ("project_hash", f"{report.project.project_hash:08x}")):
        ET.SubElement(properties, "property", name=name, value=_text(value))
    for time in report.times:
        case = ET.SubElement(suite, "testcase", classname="times", name=_text(time.title))
        case.set("time", f"{time.seconds.median:.9f}")
    for sample, reason in _samples(report):
        case = ET.SubElement(suite, "testcase", classname="outputs", name=f"sample {sample + 1}")
        if reason:
            ET.SubElement(case, "failure", message=_text(reason))
    cases = list(suite.iter("testcase"))
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    return ET.ElementTree(suite)


def _samples(report: MeasureReport) -> Iterator[tuple[int, str]]:
    """Yield each sample that was run, from 0, and why it failed, "" where its output is bit-exact."""
    reasons = dict.fromkeys(report.measurement.samples + (report.stream.samples if report.stream else ()), "")
    reasons |= dict.fromkeys(report.outputs.differing, "the output differs from the integer reference")
    reasons |= {failure.sample: failure.reason for failure in report.failures}
    yield from sorted(reasons.items())


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("?", text)
