"""The platformio.ini of a board's project: an environment for the installed compiler, and PlatformIO's stock one."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.boards.board import Board, ClockSource
from tinysplit.common.project_files import SYSTEM_ENVIRONMENT, SYSTEM_PLATFORM
from tinysplit.common.templates import render

COMPILER = "arm-none-eabi-gcc"
STOCK_ENVIRONMENT = "stock"


@dataclass(frozen=True)
class PlatformioIniContext:
    """The names of `project/platformio.ini.j2`."""

    board: Board
    macros: Sequence[str]
    system: str
    stock: str
    system_platform: str


def macros(board: Board) -> tuple[str, ...]:
    """Return what the compiler defines for every file of the board's project, as arguments of -D."""
    hse = (f"CLOCK_HSE_HZ={board.clock.oscillator_hz}u",) if board.clock_source is ClockSource.HSE else ()
    dual_issue = ("DSP_DUAL_ISSUE",) if board.device.core == "cortex-m7" else ()  # see firmware/common/dsp.h
    return (board.device.vendor_define, *hse, *dual_issue)


def render_platformio_ini(board: Board) -> str:
    """Return the text of the board's platformio.ini, which names nothing of this machine."""
    return render(
        "project/platformio.ini.j2",
        PlatformioIniContext(
            board=board,
            macros=macros(board),
            system=SYSTEM_ENVIRONMENT,
            stock=STOCK_ENVIRONMENT,
            system_platform=SYSTEM_PLATFORM,
        ),
    )
