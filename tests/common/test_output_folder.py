import subprocess
from pathlib import Path

import pytest

from tinysplit.common.errors import InputError
from tinysplit.common.output_folder import check_output_folder, whole_folder
from tinysplit.common.project_files import ELF_IN_PROJECT, LIST_NAME, MANIFEST_NAME


def test_a_new_folder_appears_with_its_parents(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    with whole_folder(out) as folder:
        (folder / "file").write_text("x")
        assert not out.exists()
    assert (out / "file").read_text() == "x"
    assert [path.name for path in out.parent.iterdir()] == ["b"]


def generated_folder(path: Path) -> Path:
    with whole_folder(path) as folder:
        for name in ("board1/src/main.c", "board2/src/main.c", "model.onnx"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("x")
    return path


def generate_again(out: Path, text: str = "x", *, force: bool = False) -> None:
    with whole_folder(out, force=force) as folder:
        (folder / "board1" / "src").mkdir(parents=True)
        (folder / "board1" / "src" / "main.c").write_text(text)


def test_an_older_generated_folder_is_replaced(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    generate_again(out)
    assert sorted(path.name for path in out.iterdir()) == ["board1", LIST_NAME]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_list_is_one_of_sha256sum(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", LIST_NAME], cwd=out, check=True)


def test_what_the_user_changed_or_added_is_named_and_deleted_by_force_only(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    (out / "board1" / "src" / "main.c").write_text("changed")
    (out / "board2" / "notes.txt").write_text("precious")
    (out / "link").symlink_to(tmp_path)
    names = "board1/src/main.c, board2/notes.txt, link"
    with pytest.raises(InputError, match=rf"changed or added since it was generated \({names}\).* --force"):
        generate_again(out)
    assert (out / "board2" / "notes.txt").read_text() == "precious"
    generate_again(out, force=True)
    check_output_folder(out)
    assert not (out / "board2").exists()


def test_force_deletes_no_folder_that_was_not_generated(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not generated"):
        generate_again(tmp_path, force=True)


@pytest.mark.parametrize("text", ["x", "changed"])
def test_builds_stay_and_programs_where_nothing_has_changed(text: str, tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    elf, other = (out / board / ELF_IN_PROJECT for board in ("board1", "board2"))
    for built in (elf, elf.with_name("main.o"), other, out / "board1" / "build" / "CMakeCache.txt"):
        built.parent.mkdir(parents=True, exist_ok=True)
        built.write_text("built")
    generate_again(out, text)
    assert elf.with_name("main.o").is_file()
    assert (out / "board1" / "build" / "CMakeCache.txt").is_file()
    assert elf.is_file() == (text == "x")
    assert not other.exists()


def test_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match=r"contains files that were not generated .*thesis\.txt"):
        check_output_folder(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        check_output_folder(tmp_path / "thesis.txt")


def test_the_users_files_in_a_generated_folder_are_safe(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    (out / "notes.txt").write_text("precious")
    with pytest.raises(InputError, match=r"notes\.txt"):
        check_output_folder(out)
    with pytest.raises(InputError, match="inside the generated folder"):
        check_output_folder(generated_folder(tmp_path / "other") / "inside")


def test_a_folder_of_a_version_without_the_list_has_to_be_removed(tmp_path: Path) -> None:
    out = generated_folder(tmp_path / "out")
    (out / LIST_NAME).rename(out / MANIFEST_NAME)
    with pytest.raises(InputError, match="name a new folder, or remove it if it is of an older tinysplit"):
        check_output_folder(out, force=True)


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


APPLICATION = ("board1/src/application.c", "board1/include/application.h")


def generate_application(out: Path, text: str = "as generated", applications_of: Path | None = None) -> None:
    with whole_folder(out, applications_of=applications_of) as folder:
        for name in APPLICATION:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


def test_the_application_is_the_users(tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate_application(out)
    (out / APPLICATION[0]).write_text("the user's")
    (out / "board1" / "src" / "application_sensor.c").write_text("another file of the user")
    for _ in range(2):
        check_output_folder(out)
        generate_application(out, "of a newer version")
        assert (out / APPLICATION[0]).read_text() == "the user's"
        assert (out / APPLICATION[1]).read_text() == "of a newer version"
        assert (out / "board1" / "src" / "application_sensor.c").read_text() == "another file of the user"


def test_force_keeps_the_application_of_a_board_that_is_gone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate_application(out)
    (out / APPLICATION[0]).write_text("the user's")
    (out / "notes.txt").write_text("precious")
    with pytest.raises(InputError, match=r"\(notes.txt\)"), whole_folder(out):
        pytest.fail("it is not replaced")
    with whole_folder(out, force=True) as folder:
        (folder / "board2").mkdir()
    assert (out / APPLICATION[0]).read_text() == "the user's"
    assert not (out / APPLICATION[1]).exists()
    assert not (out / "notes.txt").exists()


def test_a_folder_of_the_same_programs_gets_their_application(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    generate_application(first)
    (first / APPLICATION[0]).write_text("the user's")
    generate_application(second, applications_of=first)
    generate_application(second)
    assert [(second / name).read_text() for name in APPLICATION] == ["the user's", "as generated"]


def test_application_files_of_a_folder_that_was_not_generated_are_not_taken_for_the_users(tmp_path: Path) -> None:
    (tmp_path / APPLICATION[0]).parent.mkdir(parents=True)
    (tmp_path / APPLICATION[0]).write_text("precious")
    with pytest.raises(InputError, match="not generated"):
        generate_application(tmp_path)
