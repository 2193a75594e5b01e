"""Board files with mistakes: one line names each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tinysplit.boards.catalog import load_board, load_file
from tinysplit.common import package_files
from tinysplit.common.errors import InputError


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of boards with a copy of nucleo_g071rb named broken."""
    (tmp_path / "families").mkdir()
    real = package_files.boards()
    family = (real / "families" / "stm32g0.toml").read_text(encoding="utf-8")
    (tmp_path / "families" / "stm32g0.toml").write_text(family, encoding="utf-8")
    path = tmp_path / "broken.toml"
    path.write_text((real / "nucleo_g071rb.toml").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(package_files, "boards", lambda: tmp_path)
    load_file.cache_clear()
    yield path
    load_file.cache_clear()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('tx = "PA2"', 'tx = "PA4"', "stm32g071rbt6: PA4 does not carry USART2 TX; these pins do: PA2, PA14, PD5"),
        ('tx = "PA2"', 'tx = "A2"', "broken.toml: host_uart.tx has to be a pin, as in PA9"),
        ('name = "USART2"', 'name = "USART6"', "stm32g0.toml does not describe USART6"),
        ("sleep_ma = 3.14", "sleep_ma = 31.4", "power: Sleep mode with 31.4 mA draws more than 5.07 mA"),
        ("run_ma = 5.07", "run_ma = nan", "broken.toml: power.run_ma has to be finite"),
        ("cpm = 307", "cpm = 307\ncolour = 1", "broken.toml: published.colour is no known key"),
        ('source = "UM2324 STM32', '# source = "', "broken.toml: source is missing"),
        ("stm32g071rbt6", "stm32g071rbt9", "there is no part 'stm32g071rbt9'"),
        ("stm32g071rbt6", "stm32h745zit6", "broken.toml: stm32h745zit6: there is no firmware for parts with two cores"),
        (
            "[debug]",
            "[probes]",
            "an older format: `tinysplit boards --new stm32g071rbt6` writes a new one, for the pins of this file",
        ),
        (
            "stm32g071rbt6",
            "stm32f103rbt6",
            "stm32f103rbt6: there is no firmware for the family stm32f1, only for stm32g0",
        ),
        ("[published]", "[published", "broken.toml: not a TOML file"),
        ("[power]", "[hse]\nhz = 8_000_000\n[power]", "broken.toml: hse.source is missing"),
    ],
)
def test_a_mistake_in_a_board_file_is_named(edited: Path, old: str, new: str, message: str) -> None:
    text = edited.read_text(encoding="utf-8")
    assert old in text
    edited.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_board("broken")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_board_file_that_is_no_text_is_named(edited: Path) -> None:
    edited.write_bytes(b'title = "\xff"\n')
    with pytest.raises(InputError, match=r"broken\.toml: not a TOML file"):
        load_board("broken")
