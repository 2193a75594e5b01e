import json
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from rigs.fake_reports import GOOD, make_report
from rigs.fake_rig import FIRST_S, LAST_S, NOTE, FakeRig, make_inputs, make_project
from tinysplit.common.errors import CheckFailedError
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.measure.outputs import OutputCheck, OutputErrors
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.measure.stream import stream
from tinysplit_hil.measure.tables import PUBLISHED_MACC, print_measurement
from tinysplit_hil.wire.protocol import BoardError, ErrorCode


def text_of(report: MeasureReport) -> str:
    stream = StringIO()
    print_measurement(report, Console(file=stream, width=100))
    return stream.getvalue()


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_json_has_what_was_planned() -> None:
    data = json.loads(json.dumps(make_report().to_json()))
    assert (data["rig"], data["rig_note"]) == ("virtual", NOTE)
    assert [board["name"] for board in data["boards"]] == ["nucleo_g071rb", "nucleo_g071rb"]
    assert data["latency"]["measured"] == pytest.approx({"L": 0.0111, "T": 0.02, "I": 0.0311})
    assert data["latency"]["estimated"] == pytest.approx({"L": 0.00999, "T": 0.0199, "I": 0.02989})
    assert [layer["cycles"] for layer in data["layers"]] == [640_000, 64_000, 6_400]
    assert data["output"]["bit_exact"] is True
    assert data["output"]["samples"] == 3
    assert data["output"]["top1"] == 0.975
    assert data["output"]["float_top1"] == 0.9778
    assert data["cuts"][0]["payload_bytes"] == 300
    assert data["measured_i_s"] == pytest.approx(FIRST_S + LAST_S, rel=0.01)
    assert data["estimated_i_s"] == pytest.approx(0.02989)
    assert (data["estimated_period_s"], data["one_board_period_s"]) == (0.03, 0.04)
    assert (data["measured_period_s"], data["pipelined"], data["failures"]) == (None, None, [])
    assert data["boards"][0]["measured_s"] == pytest.approx(0.011)


def test_tables() -> None:
    text = text_of(make_report())
    assert max(len(line) for line in text.splitlines()) <= 100
    assert text.count(f"Measured on {NOTE}.") == 1
    assert "3 of 3 bit-exact" in text
    assert "Integer reference of 360: top-1 0.9750, float 0.9778, agreement with float 99.00 %" in text
    row = next(line for line in text.splitlines() if "layer_1" in line)
    assert cells(row) == ["1", "layer_1", "conv", "1", "640 000", "6.40", "9.00", "10.00", "+11.1 %"]
    last = text.splitlines()[-4:]
    assert "+11.1 %" in "".join(last)
    assert "+0.5 %" in "".join(last)
    assert "Santamaria" not in text


def test_a_stream_adds_its_period_and_failures_their_table() -> None:
    project, fake, inputs = make_project(), FakeRig.make(), make_inputs(12)
    fake.boards[0].failures = {2: BoardError(ErrorCode.LINK_NO_ANSWER, 0)}
    measurement = measure(project, fake.rig, inputs[:3])
    report = MeasureReport(project, measurement, GOOD, stream(project, fake.rig, inputs))
    data = json.loads(json.dumps(report.to_json()))
    assert data["measured_period_s"] == pytest.approx(FIRST_S)
    assert data["pipelined"]["samples"] == 12
    assert data["failures"] == [{"sample": 2, "reason": measurement.failures[0].reason}]
    rows = [cells(line) for line in text_of(report).splitlines()]
    assert ["estimated", "30.000", "33.33"] in rows
    assert ["measured, virtual boards", "31.000", "32.26"] in rows
    assert ["best single board, estimated", "40.000", "25.00"] in rows
    assert "Failed samples: 1" in text_of(report)
    with pytest.raises(CheckFailedError, match="1 sample failed; sample 2: cut 1: no answer on the link between board"):
        report.check()


def test_published_figures_stand_beside_the_same_experiment() -> None:
    text = text_of(make_report(macc=PUBLISHED_MACC // 3))
    assert "Table 5" not in text
    project = make_project()
    layers = tuple(
        layer.model_copy(update={"macc": macc}) for layer, macc in zip(project.layers, (809_000, 100, 46), strict=True)
    )
    project = project.model_copy(update={"layers": layers})
    report = MeasureReport(project, measure(project, FakeRig.make().rig, make_inputs()), GOOD)
    rows = [cells(line) for line in text_of(report).splitlines()]
    assert ["Santamaria 2021, Table 5, Model", "3.88", "0.22", "4.10"] in rows
    assert ["Santamaria 2021, Table 5, Experimental", "3.56", "0.25", "3.81"] in rows


def test_difference_fails_the_check() -> None:
    make_report().check()
    bad = OutputCheck(
        samples=3,
        differing=(1, 2),
        reference_samples=3,
        outputs={"y": OutputErrors(top1=None, float_top1=None, agreement=1.0, rmse=0.0, mae=0.0, l2r=0.0)},
    )
    report = make_report(bad)
    with pytest.raises(CheckFailedError, match="2 of 3 outputs differ from the integer reference, first for sample 2"):
        report.check()
    text = text_of(report)
    assert "1 of 3 bit-exact" in text
    assert "top-1 agreement with float 100.00 %" in text
    assert report.to_json()["output"]["differing"] == [1, 2]


def test_virtual_figures_are_called_so() -> None:
    assert "tinysplit, 8 bits, virtual boards" in text_of(make_report())
    assert np.isclose(make_report().measured.i_s, 0.0311)
