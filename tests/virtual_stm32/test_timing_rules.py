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
            f"timing.toml: cortex-m5: {PART} has no such core or family: expected cortex-m4 or stm32f4",
        ),
        (HEAD + "[cortex-m0plus]\nload = 1\n", f"timing.toml: cortex-m0plus: {PART} has no such core or family: "),
        (HEAD + "load = 2\n", f"timing.toml: load: {PART} has no such core or family: "),
        (HEAD + "cortex-m4 = 2\n", "timing.toml: cortex-m4: expected a table of rules, [cortex-m4], with lines as "),
        *(
            (
                HEAD + f"[cortex-m4]\nload = {value}\n",
                f"timing.toml: cortex-m4.load = {value}: expected cycles, a whole number from 0 to 100",
            )
            for value in ("-1", "1.5", "101", "true", "'two'")
        ),
        (
            "version = 1\npart = 'stm32u575zit6q'\n[cortex-m33]\ncache_ways = 0\n",
            "timing.toml: cortex-m33.cache_ways = 0: expected one of 1, 2, 4",
        ),
        ("version = 1\npart = 'stm32foo'\n", "timing.toml: there is no part 'stm32foo': write it in full"),
        ("version = 2\npart = 'x'\n", "timing.toml: expected `version = 1` and a `part`"),
        ("version 1", "timing.toml is no timing file: "),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"timing\.toml") as error:
        read_timing_file(file_of(tmp_path, text))
    assert message in str(error.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    path.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError) as error:
        read_timing_file(path)
    assert str(error.value) == f"{path} is no timing file: it is no text"


def test_a_file_of_other_boards_is_refused(tmp_path: Path) -> None:
    timing = read_timing_file(file_of(tmp_path, HEAD + "[cortex-m4]\nload = 3\n"))
    g0, f4 = load_board("nucleo_g071rb"), load_board("nucleo_f401re")
    timing.check_boards([g0, f4])
    with pytest.raises(InputError, match=rf"timing\.toml is of {PART}, not of stm32g071rbt6: give the timing file of"):
        timing.check_boards([g0])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: No such file"):
        read_timing_file(tmp_path / "none.toml")
