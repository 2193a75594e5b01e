"""The drivers of links on virtual boards: every byte of a transfer in both directions at once."""

from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from programs.firmware_build import firmware_of
from programs.uart_firmware import Traffic, build
from programs.virtual_firmware import address_of
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import DRIVINGS, LinkDriver, LinkDriving, usual_driving
from tinysplit.codegen.board_files import render_board_files
from virtual_stm32 import VirtualBoard, VirtualRig, Wire
from virtual_stm32.peripherals.dma.controller import Channel

PAIRED = (
    "nucleo_g071rb",
    "nucleo_c031c6",
    "nucleo_l053r8",
    "nucleo_f401re",
    "nucleo_l452re",
    "nucleo_g431rb",
    "nucleo_h743zi",
)
FAMILIES = (
    *PAIRED,
    "nucleo_f746zg",
    "nucleo_f303re",
    "nucleo_wb55rg",
    "nucleo_wl55jc",
    "nucleo_f091rc",
    "nucleo_u575zi_q",
    "nucleo_h563zi",
    "nucleo_l552ze_q",
    "nucleo_f103rb",
)
RING = tuple(zip(FAMILIES, (*FAMILIES[1:], FAMILIES[0]), strict=True))  # every family twice
PAIRS = tuple(
    pytest.param(names, marks=() if names in RING or names[0] == names[1] else pytest.mark.nightly, id="-".join(names))
    for names in combinations_with_replacement(PAIRED, 2)
)
DMA, SMALL_DMA, *_ = DRIVINGS
BYTES = 600  # more than two turns of the ring
MS = 10**9
PARTS = 16  # of the time for an exchange, behind each of which it may be done
RESULTS = ("wrong", "received", "sent", "is_done")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drivers")


@cache
def elf(folder: Path, name: str, driving: LinkDriving, baud: int) -> Path:
    traffic = Traffic(BYTES, is_polled=driving.driver is LinkDriver.POLLING)
    own = folder / f"{name}_{driving.driver}_{driving.ring_bytes}_{baud}"
    return build(own, load_board(name), driving, baud, traffic)


def exchange(folder: Path, names: tuple[str, str], driving: LinkDriving, baud: int) -> list[list[int]]:
    """Return wrong bytes, received and sent bytes, and whether it is done, of both boards."""
    boards = [load_board(name) for name in names]
    elfs = [elf(folder, name, driving, baud) for name in names]
    wire = Wire((0, boards[0].link_uarts[0].name), (1, boards[1].link_uarts[0].name))
    rig = VirtualRig(
        [VirtualBoard(board, path) for board, path in zip(boards, elfs, strict=True)], [wire], has_ideal_memory=True
    )
    addresses = [[address_of(name, path) for name in RESULTS] for path in elfs]
    seconds = 10 * BYTES / baud
    for part in range(1, PARTS + 1):
        rig.run_until(round((10 + 2000 * seconds) * MS * part / PARTS))
        read = [[rig.read_word(index, address) for address in own] for index, own in enumerate(addresses)]
        if all(is_done == 1 for *_, is_done in read):
            break
    return read


@pytest.mark.parametrize("names", PAIRS)
def test_dma_moves_every_byte_at_4_mbaud(folder: Path, names: tuple[str, str]) -> None:
    assert exchange(folder, names, DMA, 4_000_000) == [[0, BYTES, BYTES, 1]] * 2


@pytest.mark.parametrize("names", RING, ids="-".join)
def test_dma_with_small_buffers_moves_every_byte_at_4_mbaud(folder: Path, names: tuple[str, str]) -> None:
    assert exchange(folder, names, SMALL_DMA, 4_000_000) == [[0, BYTES, BYTES, 1]] * 2


@pytest.mark.parametrize(
    ("names", "baud"),
    [  # at 4 Mbaud, above, all pairs run by day
        pytest.param(names, baud, id=f"{baud}-{'-'.join(names)}", marks=() if is_daily else pytest.mark.nightly)
        for number, names in enumerate(RING)
        for baud, is_daily in ((115_200, False), (921_600, number % 3 == 0))
    ],
)
def test_dma_moves_every_byte(folder: Path, names: tuple[str, str], baud: int) -> None:
    assert exchange(folder, names, DMA, baud) == [[0, BYTES, BYTES, 1]] * 2


@pytest.mark.parametrize("name", FAMILIES)
def test_a_transfer_may_end_between_reading_and_clearing_flags(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, reads = Channel.shown, dict[int, int]()

    def late(channel: Channel, *, half: int, complete: int) -> int:
        """Show COMPLETE in the third read: the register has flags of both directions, and is read for each."""
        is_complete = channel.flags & Channel.COMPLETE
        reads[id(channel)] = reads.get(id(channel), 0) + 1 if is_complete else 0
        return shown(channel, half=half, complete=complete if reads[id(channel)] > 2 else 0)

    monkeypatch.setattr(Channel, "shown", late)
    assert exchange(folder, (name, name), DMA, 4_000_000) == [[0, BYTES, BYTES, 1]] * 2


# At 4 Mbaud in both directions a Cortex-M4 without FIFO has 200 cycles for two bytes: it loses some.
@pytest.mark.parametrize("names", RING, ids="-".join)
@pytest.mark.parametrize("baud", [pytest.param(115_200, marks=pytest.mark.nightly), 921_600])
@pytest.mark.parametrize("driver", [LinkDriver.INTERRUPT, LinkDriver.POLLING])
def test_the_core_moves_every_byte(folder: Path, names: tuple[str, str], driver: LinkDriver, baud: int) -> None:
    is_slow = any("_l0" in name or "_f0" in name for name in names)  # 347 and 521 cycles for two bytes, without FIFO
    rate = baud // 4 if is_slow and baud > 115_200 else baud
    assert exchange(folder, names, usual_driving(driver), rate) == [[0, BYTES, BYTES, 1]] * 2


@pytest.mark.parametrize("name", ["nucleo_g071rb", "nucleo_l4r5zi"])
def test_8_mbaud_by_oversampling_by_8(folder: Path, name: str) -> None:
    assert exchange(folder, (name, "nucleo_l452re"), DMA, 8_000_000) == [[0, BYTES, BYTES, 1]] * 2


def source(name: str, driver: LinkDriver) -> str:
    board = load_board(name)
    return render_board_files(firmware_of(board, board.link_uarts, driver))["src/board.c"]


def test_requests_are_connected_as_the_family_does_it() -> None:
    assert "DMAMUX1_Channel1->CCR |= 51u;" in source("nucleo_g071rb", LinkDriver.DMA)
    assert "DMA1_CSELR->CSELR |= 2u << 16u;" in source("nucleo_l452re", LinkDriver.DMA)
    assert ".request = 5," in source("nucleo_f401re", LinkDriver.DMA)
    assert "RCC_AHB1ENR_DMAMUX1EN" in source("nucleo_l4r5zi", LinkDriver.DMA)
    assert "RCC_AHB1ENR_DMAMUX1EN" not in source("nucleo_l452re", LinkDriver.DMA)


def test_a_polled_link_has_an_interrupt_that_the_host_may_interrupt() -> None:
    text = source("nucleo_g071rb", LinkDriver.POLLING)
    assert "host_interrupt();" in text
    assert text.count("transfers_interrupt(") == len(load_board("nucleo_g071rb").link_uarts)


def test_a_board_without_links_names_nothing_of_them() -> None:
    text = render_board_files(firmware_of(load_board("nucleo_g071rb")))["src/board.c"]
    assert "link" not in text
