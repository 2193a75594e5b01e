"""What `measure` and `run` print: one screen of 80 columns, whatever the number of boards."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from rigs.fake_reports import GOOD, make_report
from rigs.fake_rig import FIRST_S, FakeRig, make_inputs, make_project
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.measure.stream import stream
from tinysplit_hil.measure.summary import MOST_BOARDS, print_summary
from tinysplit_hil.wire.protocol import StackUse

LINES, COLUMNS = 25, 80


def lines_of(report: MeasureReport) -> list[str]:
    text = StringIO()
    print_summary(report, None, Console(file=text, width=COLUMNS))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_the_answer_comes_first() -> None:
    report = replace(make_report(), stacks={2: StackUse(1792, 1664)})
    lines = lines_of(report)
    assert lines[0].startswith("latency 31.10 ms on virtual boards, 29.89 ms estimated (+4.0 %): 3 samples of")
    assert any("3 of 3 bit-exact" in line for line in lines[:4])
    row = next(line for line in lines if line.startswith("2 nucleo_g071rb"))
    assert row.split()[-3:] == ["1664", "of", "1792"]
    assert ["measured", "11.10", "20.00", "31.10"] in [line.split() for line in lines]


@pytest.mark.parametrize("n_boards", [2, 8, 40])
def test_it_is_one_screen(n_boards: int) -> None:
    report = make_report()
    first, *_ = report.project.boards
    more = (first.model_copy(update={"number": number}) for number in range(3, n_boards + 1))
    project = report.project.model_copy(update={"boards": (*report.project.boards, *more)})
    lines = lines_of(replace(report, project=project))
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    rows = [line for line in lines if line.split()[1:2] == [first.name]]
    assert len(rows) == min(n_boards, MOST_BOARDS)
    assert (f"and {n_boards - MOST_BOARDS} boards more" in lines) == (n_boards > MOST_BOARDS)


def test_a_stream_has_its_period() -> None:
    project, fake, inputs = make_project(), FakeRig.make(), make_inputs(12)
    report = MeasureReport(project, measure(project, fake.rig, inputs[:3]), GOOD, stream(project, fake.rig, inputs))
    (line,) = (line for line in lines_of(report) if line.startswith("period "))
    assert line.startswith(f"period {1000 * FIRST_S:.2f} ms, 32.26 inferences/s, 30.00 ms estimated (+3.3 %); best")
