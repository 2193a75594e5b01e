import csv
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rigs.fake_reports import GOOD, make_report
from rigs.fake_rig import FIRST_S, LAST_S, PERIOD_S, FakeRig, make_inputs, make_project
from tinysplit.common.errors import CheckFailedError
from tinysplit_hil.measure.measure import Failure
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.measure.stream import stream
from tinysplit_hil.results.files import ResultFiles
from tinysplit_hil.wire.protocol import StackUse


def rows_of(report: MeasureReport, path: Path) -> dict[tuple[str, str], dict[str, str]]:
    ResultFiles(csv=path).write(report)
    with path.open(newline="", encoding="utf-8") as file:
        return {(row["what"], row["number"]): row for row in csv.DictReader(file)}


def test_csv_has_every_time_with_its_statistics(tmp_path: Path) -> None:
    rows = rows_of(make_report(), tmp_path / "times.csv")
    assert list(rows) == [
        *(("L", "0"), ("T", "0"), ("I", "0")),
        *(("layer", "1"), ("layer", "2"), ("layer", "3"), ("cut", "1")),
    ]
    total, layer, cut = rows["I", "0"], rows["layer", "1"], rows["cut", "1"]
    assert float(total["median_s"]) == pytest.approx(FIRST_S + LAST_S, rel=1e-6)
    assert (layer["name"], layer["boards"], layer["count"]) == ("layer_1", "1", "3")
    assert [float(layer[key]) for key in ("estimated_s", "median_s", "p95_s")] == pytest.approx([0.009, 0.01, 0.01])
    assert cut["boards"] == "1->2"
    assert float(cut["mean_s"]) == pytest.approx(0.02)


def test_a_stream_adds_the_times_between_its_outputs(tmp_path: Path) -> None:
    project, inputs = make_project(), make_inputs(12)
    report = replace(make_report(), stream=stream(project, FakeRig.make().rig, inputs))
    period = rows_of(report, tmp_path / "times.csv")["period", "0"]
    assert float(period["median_s"]) == pytest.approx(PERIOD_S, rel=1e-6)
    assert int(period["count"]) >= 6


def test_copies_have_no_times_between_outputs() -> None:
    found = stream(make_project(copies=2), FakeRig.make(copies=2).rig, make_inputs(24))
    assert found.intervals is None
    assert found.period_s == pytest.approx(PERIOD_S / 2, rel=0.01)


def test_json_is_what_the_command_prints(tmp_path: Path) -> None:
    report, path = make_report(), tmp_path / "a.json"
    ResultFiles(json=path).write(report)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(report.to_json()))


def test_junit_has_a_failure_for_each_bad_sample(tmp_path: Path) -> None:
    report = make_report(replace(GOOD, differing=(1,)), n_samples=4)
    measurement = replace(report.measurement, samples=(0, 1, 2), failures=(Failure(3, "board 1 said \x00 <&>"),))
    path = tmp_path / "junit.xml"
    ResultFiles(junit=path).write(replace(report, measurement=measurement))
    suite = ET.parse(path).getroot()  # noqa: S314 (our own file)
    assert (suite.get("tests"), suite.get("failures")) == ("11", "2")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    failures = {
        name: found.get("message") for name, case in cases.items() if (found := case.find("failure")) is not None
    }
    assert failures == {"sample 2": "the output differs from the integer reference", "sample 4": "board 1 said ? <&>"}
    assert float(cases["layer 1 layer_1 (board 1)"].get("time", "")) == pytest.approx(0.01)


def test_junit_has_a_failure_for_each_small_stack(tmp_path: Path) -> None:
    report = replace(make_report(), stacks={1: StackUse(1792, 600), 2: StackUse(1792, 1700)})
    path = tmp_path / "junit.xml"
    ResultFiles(junit=path).write(report)
    cases = ET.parse(path).getroot().findall("testcase[@classname='memory']")  # noqa: S314 (our own file)
    found = {case.get("name"): case.find("failure") for case in cases}
    assert list(found) == ["stack of board 1", "stack of board 2"]
    assert found["stack of board 1"] is None
    with pytest.raises(CheckFailedError, match="has used 1700 of 1792 bytes of its stack") as error:
        report.check()
    failure = found["stack of board 2"]
    assert failure is not None
    assert failure.get("message") == str(error.value)
