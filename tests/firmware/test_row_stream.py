"""Streamed hand-offs of the firmware on the host, on played links: every check is in tests/c/row_stream.c."""

import subprocess
from pathlib import Path

from programs.firmware_on_host import compile_host


def test_rows_are_taken_and_given_away(tmp_path: Path) -> None:
    program = compile_host(tmp_path, "row_stream", "row_stream.c", "words.c")
    subprocess.run([program], check=True, timeout=120)
