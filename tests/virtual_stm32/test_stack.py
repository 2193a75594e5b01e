"""The stack's high-water mark: in replies, on virtual boards, and checked in the report."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from example_folders import example
from rigs.fake_reports import make_report
from tinysplit.build.report import BuildReport
from tinysplit.codegen.board_files import STACK_BYTES
from tinysplit.common.errors import CheckFailedError
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.tables import print_measurement
from tinysplit_hil.wire.protocol import StackUse


def test_a_reply_is_read_as_it_is_written() -> None:
    use = StackUse(stack_bytes=1792, used_bytes=600)
    assert use.pack() == b"\x00\x07\x00\x00\x58\x02\x00\x00"
    assert StackUse.unpack(use.pack()) == use


def test_a_stack_with_128_bytes_left_passes_and_is_shown() -> None:
    report = replace(make_report(), stacks={2: StackUse(1792, 1664)})
    report.check()
    boards = json.loads(json.dumps(report.to_json()))["boards"]
    assert (boards[0]["stack_bytes"], boards[0]["stack_used_bytes"]) == (None, None)
    assert (boards[1]["stack_bytes"], boards[1]["stack_used_bytes"]) == (1792, 1664)
    text = StringIO()
    print_measurement(report, Console(file=text, width=100))
    assert "board 2 (nucleo_g071rb): 1664 of 1792 bytes of the stack used" in text.getvalue()


def test_a_stack_with_less_left_fails() -> None:
    report = replace(make_report(), stacks={1: StackUse(1792, 1000), 2: StackUse(1792, 1665)})
    with pytest.raises(CheckFailedError, match=r"board 2 .* has used 1665 of 1792 bytes of its stack, of which 128"):
        report.check()


@pytest.mark.slow
def test_virtual_boards_tell_what_of_their_stack_they_used() -> None:
    printed, folder = example.shared_mixed_run()
    for board in printed["boards"]:
        assert board["stack_bytes"] == STACK_BYTES
        assert 256 < board["stack_used_bytes"] < 1024
    project = Project.read(folder)
    built = BuildReport.read(project, folder).to_json()
    assert [board["stack_bytes"] for board in built["boards"]] == [STACK_BYTES, STACK_BYTES]
