"""The file of simulated time: only such a file is written to, whatever file a rig file names."""

from pathlib import Path

import pytest
import serial

from tinysplit.common.errors import ToolError
from tinysplit_hil.wire.simulated_time import SharedTime, share_time


@pytest.mark.parametrize("content", [b"", b"letters!" * 9, b"sim-time", b"sim-time" + bytes(17)])
def test_other_files_stay_as_they_are(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ToolError, match="do not run any more"), share_time(path, {0: serial.serial_for_url("loop://")}):
        pass
    assert path.read_bytes() == content


def test_the_file_of_fewer_boards(tmp_path: Path) -> None:
    path = tmp_path / "time"
    SharedTime.create(path, 1).close()
    with (
        pytest.raises(ToolError, match="is the time of other virtual boards"),
        share_time(path, {1: serial.serial_for_url("loop://")}),
    ):
        pass
