"""The platformio.ini of a board's project: one environment for the system's compiler, the stock one for users."""

import shutil

from tinysplit.boards.board import Board
from tinysplit.common import resources
from tinysplit.common.project_files import SYSTEM_ENVIRONMENT
from tinysplit.common.templates import render

COMPILER = "arm-none-eabi-gcc"
STOCK_ENVIRONMENT = "stock"


def render_platformio_ini(board: Board) -> str:
    """Return the text of the board's platformio.ini.

    `pio run` without `-e` takes the system's compiler where there is one at this moment, else the stock environment.
    """
    return render(
        "project/platformio.ini.j2",
        board=board,
        system=SYSTEM_ENVIRONMENT,
        stock=STOCK_ENVIRONMENT,
        system_platform=resources.boards() / "platform",
        default_environment=SYSTEM_ENVIRONMENT if shutil.which(COMPILER) else STOCK_ENVIRONMENT,
    )
