"""Rules of cores and families, and timing files that replace them for boards of a part."""

from pathlib import Path

import pytest

from programs.virtual_snippets import Snippets
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError
from virtual_stm32.core.cores import Core
from virtual_stm32.timing_rules import known_tables, read_timing_file, shipped_rules

PART = "stm32f401ret6"
HEAD = f'version = 1\npart = "{PART}"\n'


def file_of(folder: Path, text: str) -> Path:
    path = folder / "timing.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", known_tables())
def test_each_rule_has_a_meaning_and_a_source(name: str) -> None:
    for rule, each in shipped_rules(name).items():
        assert each.what, rule
        assert each.sources, rule
        assert each.without != each.value, rule
        values = [each.value] if isinstance(each.value, int) else each.value
        assert all(value >= 0 for value in values), rule


def test_a_timing_file_changes_boards_of_its_part(tmp_path: Path) -> None:
    board, other = load_board("nucleo_f401re"), load_board("nucleo_f446re")
    assert board.device.name == PART
    timing = read_timing_file(file_of(tmp_path, HEAD + "[cortex-m4]\nexception_entry = 14\n"))
    assert (Core.of(board, timing).entry_cycles, Core.of(other, timing).entry_cycles) == (14, 12)
    assert Core.of(board).entry_cycles == 12


def test_code_takes_the_cycles_of_its_timing_file(tmp_path: Path) -> None:
    piece = "str r0, [r4]; ldr r1, [r4]"
    snippets = Snippets(tmp_path, "nucleo_f401re", {piece: 0}, ())
    timing = read_timing_file(file_of(tmp_path, HEAD + "[cortex-m4]\nload_after_store = 3\n"))
    assert snippets.cycles(piece, timing=timing) == snippets.cycles(piece) + 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + "[cortex-m4]\nload_twice = 1\n",
            "timing.toml: cortex-m4.load_twice: unknown rule: expected one of load, ",
        ),
        (
            HEAD + "[cortex-m5]\nload = 1\n",
            "timing.toml: cortex-m5: unknown core or family: expected one of cortex-m0, cortex-m0plus, ",
        ),
        (HEAD + "[cortex-m4]\nload = -1\n", "timing.toml: cortex-m4.load = -1: expected cycles, a number from 0 on"),
        (HEAD + "load = 2\n", "timing.toml: load: unknown core or family"),
        ("version = 2\npart = 'x'\n", "timing.toml: expected `version = 1` and a `part`"),
        ("version 1", "timing.toml is no timing file: "),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"timing\.toml") as error:
        read_timing_file(file_of(tmp_path, text))
    assert message in str(error.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: No such file"):
        read_timing_file(tmp_path / "none.toml")
