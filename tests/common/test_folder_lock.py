import os
from pathlib import Path

import pytest

from tinysplit.common.errors import ToolError
from tinysplit.common.folder_lock import locked_folder


def test_the_second_user_of_a_folder_gets_one_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with locked_folder(out):
        message = rf"out is in use by another tinysplit command \(process {os.getpid()}\)"
        with pytest.raises(ToolError, match=message), locked_folder(tmp_path / "." / "out"):
            pass
        with locked_folder(tmp_path / "other"):
            pass
    with locked_folder(out):
        pass
