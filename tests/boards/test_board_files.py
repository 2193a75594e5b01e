"""Boards of the user's own: files that are named by their paths, and folders of them."""

import dataclasses
from pathlib import Path

import pytest

from tinysplit.boards import board_files
from tinysplit.boards.board_files import board_name, board_names, named_path, own_board_paths, use_folder_beside
from tinysplit.boards.catalog import load_all, load_board
from tinysplit.boards.probe_port import check_probe_baud
from tinysplit.common import package_files
from tinysplit.common.errors import InputError, UsageError
from tinysplit.papers.published_costs import published_of


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_files, "_named", {})
    monkeypatch.setattr(board_files, "_beside", [])
    monkeypatch.delenv(board_files.FOLDERS, raising=False)


def own_board(path: Path, *, title: str = "mine") -> Path:
    """Write a board file without published cycles."""
    path.parent.mkdir(exist_ok=True)
    text = (package_files.boards() / "nucleo_g071rb.toml").read_text(encoding="utf-8")
    before, _, after = text.partition("[published]")
    before = before.replace('title = "NUCLEO-G071RB (STM32G071RB)"', f'title = "{title}"')
    path.write_text(before + "[clock]" + after.partition("[clock]")[2], encoding="utf-8")
    return path


@pytest.mark.parametrize("given", ["nucleo_g071rb", "NUCLEO_G071RB", "Nucleo-G071RB"])
def test_names_in_any_case(given: str) -> None:
    assert load_board(given) is load_board("nucleo_g071rb")


def test_a_file_that_is_named_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_board(tmp_path / "My-Board.toml")
    monkeypatch.chdir(tmp_path)
    (board,) = load_all(["./My-Board.toml"])
    assert (board.name, board.title, board.published) == ("my_board", "mine", None)
    assert load_board("my_board") is load_board("My-Board.toml") is board  # the name is known from now on
    assert named_path("my_board") == str(tmp_path / "My-Board.toml")
    assert own_board_paths(["my_board", "nucleo_g071rb"]) == {"my_board": tmp_path / "My-Board.toml"}
    check_probe_baud("my_board", 115200)
    with pytest.raises(UsageError, match="my_board has no published cycles: leave --paper out"):
        _ = published_of(board)


SINGLE_BANK = 'extends = "nucleo_l4r5zi"\ntitle = "one bank"\n[flash]\nbanks = 1\nsource = "RM0432 DBANK"\n'


def test_a_file_that_extends_another_has_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "one_bank.toml"
    path.write_text(SINGLE_BANK, encoding="utf-8")
    own, extended, shipped = map(load_board, (str(path), "nucleo_l4r5zi", "nucleo_l4r5zi_dbank0"))
    assert own.title == "one bank"
    assert (own.flash_level.access_bytes, extended.flash_level.access_bytes) == (16, 8)
    assert dataclasses.replace(own, name=shipped.name, title=shipped.title) == shipped
    renamed = dataclasses.replace(extended, name=own.name, title=own.title)
    assert dataclasses.replace(renamed, memory_levels=own.memory_levels) == own


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("nucleo_l4r5zi", "nucleo_l4r5", "extends has to be the name of a board that comes with tinysplit"),
        ('"nucleo_l4r5zi"', "3", "extends has to be the name of a board that comes with tinysplit"),
        ("banks = 1", "banks = 3", "flash.banks has to be 1 or 2"),
        ("banks = 1", "", "flash.banks is missing"),
        ("[flash]", 'part = "stm32l4r5zgt6"\n[flash]', "flash.banks: no option bit of stm32l4r5zgt6 is known"),  # DB1M
        ("nucleo_l4r5zi", "nucleo_l452re", "flash.banks: no option bit of stm32l452ret6 is known"),
    ],
)
def test_a_file_that_extends_another_wrongly(tmp_path: Path, before: str, after: str, message: str) -> None:
    path = tmp_path / "one_bank.toml"
    path.write_text(SINGLE_BANK.replace(before, after), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_board(str(path))
    assert str(refused.value).startswith(f"{path}: {message}")


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_board(tmp_path / "all" / "one.toml", title="of the variable")
    own_board(tmp_path / "all" / "two.toml", title="of the variable")
    own_board(tmp_path / "boards" / "one.toml", title="beside the model")
    monkeypatch.setenv(board_files.FOLDERS, str(tmp_path / "all"))
    assert [load_board(name).title for name in ("one", "two")] == ["of the variable"] * 2
    use_folder_beside(tmp_path)
    assert [load_board(name).title for name in ("one", "two")] == ["beside the model", "of the variable"]
    assert {"one", "two", "nucleo_g071rb"} <= set(board_names())
    use_folder_beside(package_files.boards().parent)  # the folder of this installation is no other one
    assert load_board("nucleo_g071rb").title == "NUCLEO-G071RB (STM32G071RB)"


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"there is no board file .*none.toml: `tinysplit boards --new PART`"):
        board_name(str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match=r"1\.toml: the name of a board file has letters"):
        board_name(str(own_board(tmp_path / "1.toml")))
    with pytest.raises(
        InputError, match=r"nucleo_g071rb.toml has the name of a board that comes with tinysplit: rename"
    ):
        board_name(str(own_board(tmp_path / "nucleo_g071rb.toml")))
    monkeypatch.setenv(board_files.FOLDERS, str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"TINYSPLIT_BOARDS names .*none, which is no folder: make it, or unset"):
        board_names()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('layer = "PB5"', 'layer = "PA2"', "PA2 is both host_uart tx and markers layer: it can have one use only"),
        ('name = "USART1"', 'name = "USART2"', "USART2 is both host_uart and link_uarts 1: it can have one use only"),
        ("vos = 1", "vos = 9", "clock.settings.vos is 9: stm32g071rbt6 needs 1"),
        ("{ vos = 1 }", "{}", "clock.settings.vos is missing: stm32g071rbt6 needs 1"),
        ("vos = 1", "vos = 1, boost = 1", "clock.settings.boost is 1: stm32g071rbt6 has no such setting"),
        (
            "ahb_max_hz = 64_000_000",
            "ahb_max_hz = 65_000_000",
            "clock.ahb_max_hz is 65000000, stm32g071rbt6 takes at most 64000000",
        ),
        (
            'layer = "PB5"',
            'layer = "PA13"',
            "PA13 is markers layer, but the debug probe needs it (SWD): choose another",
        ),
        ('title = "mine"', "title = 'mine */ \"'", "title has to be one line without quotes"),
        ('platformio_board = "nucleo_g071rb"', 'platformio_board = "a b"', "platformio_board has to be a name"),
        ("device_id = 0x460", "device_id = 0x461", "debug.device_id is 0x461: stm32g071rbt6 has 0x460 (RM0444"),
        ("device_id = 0x460", 'device_id = "0x460"', "debug.device_id has to be a whole number"),
        ("device_id = 0x460", "device_id = true", "debug.device_id has to be a whole number"),
        ("device_id = 0x460", "device_id = 0x1000", "debug.device_id has to be less than 4096"),
        ("device_id = 0x460", "device_id = 0", "debug.device_id has to be more than 0"),
        ("device_id = 0x460", "", "debug.device_id is missing"),
        ("run_ma = 5.07", "run_ma = -5.07", "power.run_ma has to be more than 0"),
        ("run_ma = 5.07", 'run_ma = "5.07"', "power.run_ma has to be a number"),
        ("run_ma = 5.07", "", "power.run_ma is missing"),
        ("sleep_ma = 3.14", "sleep_ma = nan", "power.sleep_ma has to be finite"),
        ("sleep_ma = 3.14", "sleep_ma = 6", "power: Sleep mode with 6 mA draws more than 5.07 mA"),
        ("ahb_max_hz = 64_000_000", "ahb_max_hz = 64e6", "clock.ahb_max_hz has to be a whole number"),
        ('name = "USART1"', 'name = "USART9"', "stm32g071rbt6: stm32g0.toml does not describe USART9"),
    ],
)
def test_values_that_contradict_each_other_or_the_device(tmp_path: Path, before: str, after: str, message: str) -> None:
    path = own_board(tmp_path / "own.toml")
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_board(str(path))
    assert str(refused.value).startswith(f"{path}: {message}")


def test_a_file_that_is_refused_is_forgotten(tmp_path: Path) -> None:
    path = own_board(tmp_path / "own.toml")
    path.write_text("part = 3", encoding="utf-8")
    with pytest.raises(InputError):
        load_board(str(path))
    assert "own" not in board_names()


def test_two_files_with_one_name(tmp_path: Path) -> None:
    first, same = own_board(tmp_path / "a" / "own.toml"), own_board(tmp_path / "b" / "own.toml")
    other = own_board(tmp_path / "c" / "own.toml", title="another one")
    assert load_board(str(first)).device == load_board(str(same)).device
    with pytest.raises(InputError, match=r"own.toml and .*own.toml are both called own: rename one of them"):
        load_board(str(other))
    with pytest.raises(InputError, match=r"all.toml: `all` stands for all boards"):
        load_board(str(own_board(tmp_path / "all.toml")))


@pytest.mark.parametrize(("first", "second"), [("Mine", "mine"), ("my-own", "my_own")])
def test_twins_in_a_folder(tmp_path: Path, first: str, second: str) -> None:
    path = own_board(tmp_path / "boards" / f"{first}.toml")
    own_board(tmp_path / "boards" / f"{second}.toml")
    use_folder_beside(tmp_path)
    text = rf"boards/{first}.toml and {second}.toml are both called {board_files.normal_name(second)}: rename one of"
    for find in (lambda: board_name(second), lambda: board_name(first.upper()), board_names):
        with pytest.raises(InputError, match=text):
            find()
    assert board_name("nucleo_g071rb") == "nucleo_g071rb"  # which has no twin
    assert board_name(str(path)) == board_files.normal_name(first)  # paths tell them


def test_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = own_board(tmp_path / "own.toml")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_board(str(path)).title == "mine"
