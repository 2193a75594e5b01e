"""The program of the wiring test: compiles without a warning, for every kind of board and driver."""

from pathlib import Path

import pytest

from programs.firmware_build import link_project
from tinysplit.boards.catalog import load_all
from tinysplit.boards.link_driver import LinkDriver, usual_driving
from tinysplit.codegen.board_files import wiring_test_sources
from tinysplit.codegen.wiring_projects import generate_wiring_test, wiring_firmware
from tinysplit.common.errors import UsageError
from tinysplit.costs.link_options import LinkSettings
from tinysplit.plan.wiring import wire_all

FAMILIES = (
    *(
        "nucleo_g071rb",
        "nucleo_l073rz",
        "nucleo_f091rc",
        "nucleo_f103rb",
        "nucleo_f303re",
        "nucleo_wb55rg",
        "nucleo_wl55jc",
        "nucleo_u575zi_q",
        "nucleo_h563zi",
        "nucleo_l552ze_q",
        "nucleo_f401re",
        "nucleo_f746zg",
        "nucleo_l452re",
        "nucleo_g431rb",
        "nucleo_h743zi",
    ),
)


@pytest.mark.parametrize(
    "driver",
    [
        LinkDriver.DMA,
        *(pytest.param(each, marks=pytest.mark.nightly) for each in LinkDriver if each is not LinkDriver.DMA),
    ],
)
def test_the_program_of_every_family_has_no_warning(driver: LinkDriver, tmp_path: Path) -> None:
    boards = load_all(FAMILIES)
    links = wire_all(boards, LinkSettings(115_200))
    project = generate_wiring_test(boards, links, driver, tmp_path / "out")
    for board, planned in zip(boards, project.boards, strict=True):
        linked = link_project(tmp_path / "out" / planned.directory, board)
        assert linked.returncode == 0, linked.stderr


@pytest.mark.parametrize("name", ["nucleo_c031c6", "nucleo_l053r8"])
def test_boards_without_the_ram_for_it_are_refused(name: str, tmp_path: Path) -> None:
    boards = load_all(("nucleo_g071rb", name))
    with pytest.raises(
        UsageError, match=rf"^{name} has (8|12) KB of RAM, and the wiring test needs 15: test the wires"
    ):
        generate_wiring_test(boards, wire_all(boards, LinkSettings(115_200)), None, tmp_path / "out")


def test_the_program_has_no_transfers_of_a_network() -> None:
    (board,) = load_all(FAMILIES[:1])
    names = {
        Path(name).name
        for name, _ in wiring_test_sources(wiring_firmware(board, 115_200, usual_driving(LinkDriver.DMA)))
    }
    assert {"wiring.c", "link_wire.c", "link.h", "uart_link_dma.c", "host.c", "schedule.c"} <= names
    assert not names & {"transfers.c", "no_transfers.c", "link.c", "link_in.c", "link_peer.c", "row_stream.c"}
