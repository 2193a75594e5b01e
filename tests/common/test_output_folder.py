import json
from pathlib import Path

import pytest

from fake_rig import make_project
from tinysplit.common.errors import InputError
from tinysplit.common.output_folder import check_output_folder, whole_folder
from tinysplit.common.project_files import MANIFEST_NAME


def test_a_new_folder_appears_with_its_parents(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    with whole_folder(out) as folder:
        (folder / "file").write_text("x")
        assert not out.exists()
    assert (out / "file").read_text() == "x"
    assert [path.name for path in out.parent.iterdir()] == ["b"]


def generated_folder(path: Path) -> Path:
    path.mkdir()
    project = make_project()
    project.write(path)
    for board in project.boards:
        (path / board.directory).mkdir()
        (path / board.directory / "stale").write_text("x")
    return path


def test_an_older_generated_folder_is_replaced(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    with whole_folder(out) as folder:
        (folder / "new").write_text("x")
    assert [path.name for path in out.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_another_version_is_replaced(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    manifest = json.loads((out / MANIFEST_NAME).read_text())
    del manifest["model"]
    (out / MANIFEST_NAME).write_text(json.dumps(manifest))
    check_output_folder(out)


def test_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match=r"contains files that were not generated .*thesis\.txt"):
        check_output_folder(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        check_output_folder(tmp_path / "thesis.txt")


def test_a_file_with_the_manifests_name_makes_no_generated_folder(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).write_text("{}")
    with pytest.raises(InputError, match="contains files that were not generated"):
        check_output_folder(tmp_path)


def test_the_users_files_in_a_generated_folder_are_safe(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    (out / "notes.txt").write_text("precious")
    with pytest.raises(InputError, match=r"notes\.txt"):
        check_output_folder(out)
    with pytest.raises(InputError, match="inside the generated folder"):
        check_output_folder(generated_folder(tmp_path / "other") / "inside")


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with whole_folder(tmp_path / "link") as folder:
        (folder / "new").write_text("x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "new").is_file()


def test_a_failure_leaves_nothing_half_written(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def fail_half_way() -> None:
        with whole_folder(out) as folder:
            (folder / "half").write_text("x")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []
