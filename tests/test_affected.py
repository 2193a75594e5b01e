"""The tests that `./run check` picks for a change."""

import pytest

from session.affected import ALWAYS, MOST_IMPORTERS, affected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("generator/tinysplit/boards/clocks.py", {"tests/boards"}),
        ("generator/tinysplit/pipeline.py", {"tests/cli", "tests/pipeline"}),
        ("hil/tinysplit_hil/wire/client.py", {"tests/hil/wire"}),
        ("hil/tinysplit_hil/trace/times.py", {"tests/hil/measure"}),
        ("hil/virtual_stm32/core/mpu.py", {"tests/virtual_stm32"}),
        ("tests/boards/test_clocks.py", {"tests/boards/test_clocks.py"}),
        ("tests/support/session/affected.py", {"tests/test_affected.py"}),
        ("templates/layer.c.j2", {"tests/codegen", "tests/kernels"}),
        ("run", {"tests/cli/test_run.py"}),
    ],
)
def test_the_tests_of_a_package_and_of_what_imports_a_module(changed: str, expected: set[str]) -> None:
    assert {*expected, ALWAYS} <= set(affected([changed]))


def test_a_file_in_an_affected_folder_is_not_named_again() -> None:
    test = "tests/hil/wire/test_frames.py"
    assert test not in affected(["hil/tinysplit_hil/wire/frames.py", test])


def test_a_module_that_most_tests_use_affects_the_tests_of_its_package() -> None:
    assert affected(["generator/tinysplit/boards/catalog.py"]) == ["tests/boards", ALWAYS]


def test_a_module_for_tests_affects_all_that_import_it() -> None:
    assert len(affected(["tests/support/example_folders/example.py"])) > MOST_IMPORTERS


def test_where_no_test_is_affected_all_run() -> None:
    assert affected([]) == affected(["README.md"]) == []
