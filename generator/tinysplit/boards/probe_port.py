"""Baud rates of the serial ports of probes, behind which the host UARTs of boards are."""

from tinysplit.boards.catalog import read_board_file
from tinysplit.common.errors import UsageError
from tinysplit.settings.programs import HOST_BAUD

# Lowest and highest. V3: UM2448, "VCP 732 bps to 16 Mbps". ST names no limit of the V2-1: its port is USART2 of an
# STM32F103 (PA2 and PA3, UM1724 schematics) on APB1 with 36 MHz, which makes 36 MHz / 65535 to 36 MHz / 16 (RM0008,
# fractional baud rate generation).
PORT_BAUDS: dict[str, tuple[int, int]] = {"ST-LINK/V2-1": (550, 2_250_000), "STLINK-V3": (732, 16_000_000)}


def check_probe_baud(board: str, baud: int) -> None:
    """Raise UsageError where the port of the probe on `board` cannot do `baud`; some boards have no probe."""
    probe = read_board_file(board).probe
    if not probe:
        return
    lowest, highest = PORT_BAUDS[probe.family]
    if not lowest <= baud <= highest:
        raise UsageError(
            f"{board}: the port of its {probe.family} cannot do {baud} baud, but {lowest} to {highest}: choose such a"
            f" {HOST_BAUD}",
            setting=HOST_BAUD,
        )
