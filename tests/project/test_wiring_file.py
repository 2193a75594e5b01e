"""The file of a wiring test, and what `--baud auto` takes from it."""

from pathlib import Path

import pytest

from tinysplit.boards.board import Board, ClockSource
from tinysplit.boards.catalog import load_all
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.errors import InputError, UsageError
from tinysplit.costs.link_options import LinkSetting
from tinysplit.project.wiring_file import (
    Direction,
    Trial,
    WiringBoard,
    WiringFile,
    WiringLink,
    read_wiring,
    write_wiring,
)

NAMES = ("nucleo_g071rb", "nucleo_f401re", "nucleo_f446re")
DMA, INTERRUPT = LinkDriver.DMA, LinkDriver.INTERRUPT


@pytest.fixture
def boards() -> tuple[Board, ...]:
    return load_all(NAMES)


def link(pair: tuple[int, int], baud: int, driver: LinkDriver = DMA) -> WiringLink:
    first, second = (
        Direction(to_board=to, sent_frames=8, good_frames=8, damaged_frames=0, line_errors=0) for to in pair
    )
    trial = Trial(baud=baud, directions=(first, second))
    return WiringLink(
        boards=pair, uarts=("USART1", "USART1"), drivers=(DMA, driver), baud=baud, tested_bytes=16_384, trials=(trial,)
    )


def file_of(*boards: Board, links: tuple[WiringLink, ...] = (link((1, 2), 4_000_000),)) -> WiringFile:
    return WiringFile(
        tinysplit_version="0",
        rig="virtual boards",
        clock=ClockSource.HSI,
        boards=tuple(WiringBoard(number=i, name=b.name, sha256=b.sha256) for i, b in enumerate(boards, 1)),
        links=links,
    )


def test_what_is_written_is_read(tmp_path: Path, boards: tuple[Board, ...]) -> None:
    file = file_of(*boards)
    write_wiring(tmp_path / "wiring.json", file)
    assert read_wiring(tmp_path / "wiring.json", boards) == file


def test_pairs_without_a_link_in_the_file_have_none(boards: tuple[Board, ...]) -> None:
    file = file_of(*boards, links=(link((1, 2), 4_000_000), link((2, 3), 1_000_000)))
    assert file.links_with(()) == (
        LinkSetting((0, 1), 4_000_000, uarts=("USART1", "USART1")),
        LinkSetting((0, 2), None),
        LinkSetting((1, 2), 1_000_000, uarts=("USART1", "USART1")),
    )
    assert file.lowest_baud == 1_000_000
    assert file.summary == "links 1-2: 4000000 baud, 2-3: 1000000 baud, tested on virtual boards"


def test_an_option_overrides_the_rate_of_a_tested_link_only(boards: tuple[Board, ...]) -> None:
    file = file_of(*boards)
    assert file.links_with([LinkSetting((0, 1), 9600)])[0] == LinkSetting((0, 1), 9600, uarts=("USART1", "USART1"))
    assert file.links_with([LinkSetting((0, 1), None)])[0].baud is None
    with pytest.raises(UsageError, match="--link 1-3:9600: the wiring test knows no such link"):
        file.links_with([LinkSetting((0, 2), 9600)])


def test_the_driver_is_the_one_that_was_tested(boards: tuple[Board, ...]) -> None:
    assert file_of(*boards).driver_with(None) is DMA
    assert file_of(*boards).driver_with(DMA) is DMA
    mixed = file_of(*boards, links=(link((1, 2), 4_000_000, INTERRUPT),))
    assert mixed.driver_with(None) is None
    with pytest.raises(UsageError, match="--link-driver interrupt: the wiring was tested with dma: test it"):
        file_of(*boards).driver_with(INTERRUPT)
    with pytest.raises(UsageError, match="tested with dma and interrupt"):
        mixed.driver_with(DMA)


def failure(path: Path, boards: tuple[Board, ...]) -> str:
    with pytest.raises(InputError) as caught:
        read_wiring(path, boards)
    return str(caught.value)


def test_a_file_that_cannot_be_used_names_the_command(tmp_path: Path, boards: tuple[Board, ...]) -> None:
    path = tmp_path / "wiring.json"
    two = boards[:2]
    command = "test the wiring with `tinysplit wiring -b nucleo_g071rb -b nucleo_f401re`"
    assert failure(path, two) == f"{path} cannot be read (No such file or directory): {command}"
    path.write_text("{")
    assert failure(path, two) == f"{path} is not JSON: {command}"
    path.write_text("{}")
    assert failure(path, two) == f"{path}: tinysplit_version is missing: {command}"
    write_wiring(path, file_of(*boards[1:]))
    assert failure(path, two) == (
        f"{path} is of nucleo_f401re, nucleo_f446re, not of nucleo_g071rb, nucleo_f401re: {command}"
    )
    file = file_of(*two)
    changed = file.boards[0].model_copy(update={"sha256": "0"})
    write_wiring(path, file.model_copy(update={"boards": (changed, file.boards[1])}))
    assert failure(path, two) == f"{path} is of boards whose files have changed since: {command}"


def test_a_file_of_another_clock(tmp_path: Path) -> None:
    path = tmp_path / "wiring.json"
    boards = load_all(["nucleo_f401re", "nucleo_f401re"])
    write_wiring(path, file_of(*boards))
    hse = tuple(board.with_clock(ClockSource.HSE) for board in boards)
    assert failure(path, hse) == (
        f"{path} was measured with --clock hsi: test the wiring with "
        "`tinysplit wiring -b nucleo_f401re -b nucleo_f401re --clock hse`"
    )
