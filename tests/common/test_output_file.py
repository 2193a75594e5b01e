import os
from pathlib import Path

import pytest

from tinysplit.common.errors import InputError
from tinysplit.common.output_file import check_output_file, version_mark, write_whole_file


def test_a_file_is_written_whole_and_devices_stay_devices(tmp_path: Path) -> None:
    write_whole_file(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    check_output_file(pipe)
    write_whole_file(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(InputError, match="cannot be written"):
        write_whole_file(tmp_path / "missing" / "file", "text")


def test_only_our_own_files_are_replaced_without_force(tmp_path: Path) -> None:
    path = tmp_path / "file"
    check_output_file(path)
    for text in ("", f"# {version_mark()}\n", '{\n  "schema_version": 3,\n  "tinysplit_version": "0.1.0"\n}'):
        path.write_text(text)
        check_output_file(path)
    path.write_bytes(b"\x08\x07\x12precious")
    with pytest.raises(InputError, match=r"exists and was not written by tinysplit: .*--force"):
        check_output_file(path)
    check_output_file(path, force=True)


def test_a_file_needs_a_folder_and_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        check_output_file(tmp_path / "missing" / "file", force=True)
    with pytest.raises(InputError, match="is a folder"):
        check_output_file(tmp_path, force=True)
