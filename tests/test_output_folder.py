from pathlib import Path

import pytest

from tinysplit.errors import InputError
from tinysplit.output_folder import check_output_folder, whole_folder
from tinysplit.project import MANIFEST_NAME


def test_a_new_folder_appears_with_its_parents(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    with whole_folder(out) as folder:
        (folder / "file").write_text("x")
        assert not out.exists()
    assert (out / "file").read_text() == "x"
    assert [path.name for path in out.parent.iterdir()] == ["b"]


def test_an_older_generated_folder_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST_NAME).write_text("{}")
    (out / "stale").write_text("x")
    with whole_folder(out) as folder:
        (folder / MANIFEST_NAME).write_text("{}")
    assert [path.name for path in out.iterdir()] == [MANIFEST_NAME]


def test_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="holds something else"):
        check_output_folder(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        check_output_folder(tmp_path / "thesis.txt")


def test_a_failure_leaves_nothing_half_written(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def fail_half_way() -> None:
        with whole_folder(out) as folder:
            (folder / "half").write_text("x")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []
