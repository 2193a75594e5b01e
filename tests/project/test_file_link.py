"""Links in files: what each end has."""

from tinysplit.boards.link_driver import LinkDriver
from tinysplit.project.file_link import FileLink
from tinysplit.project.manifest import ProjectLink


def test_each_end_is_a_board_and_its_uart() -> None:
    link = FileLink(boards=(3, 1), uarts=("USART1", "USART6"))
    assert link.ends == ((3, "USART1"), (1, "USART6"))
    assert (link.uart_at(3), link.uart_at(1)) == ("USART1", "USART6")
    assert [str(end) for end in link.ends] == ["board 3 USART1", "board 1 USART6"]


def test_a_link_of_a_project_has_connectors_and_drivers_at_its_ends() -> None:
    link = ProjectLink(
        boards=(3, 1),
        uarts=("USART1", "USART6"),
        connectors=("D2, D8", "CN7"),
        drivers=(LinkDriver.DMA, LinkDriver.POLLING),
        baud=115_200,
    )
    assert (link.connector_at(3), link.connector_at(1)) == ("D2, D8", "CN7")
    assert (link.driver_at(3), link.driver_at(1)) == (LinkDriver.DMA, LinkDriver.POLLING)
    assert link.pair == (1, 3)
