"""The platformio.ini of a board's project: one environment for the system's compiler, the stock one for users."""

import shutil

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tinysplit import resources
from tinysplit.boards import Board

COMPILER = "arm-none-eabi-gcc"
SYSTEM_ENVIRONMENT = "system"
STOCK_ENVIRONMENT = "stock"


def render_platformio_ini(board: Board) -> str:
    """Return the text of the board's platformio.ini.

    `pio run` without `-e` takes the system's compiler where there is one at this moment, else the stock environment.
    """
    environment = Environment(
        loader=FileSystemLoader(resources.templates() / "project"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - this is no HTML
    )
    return environment.get_template("platformio.ini.j2").render(
        board=board,
        system=SYSTEM_ENVIRONMENT,
        stock=STOCK_ENVIRONMENT,
        system_platform=resources.boards() / "platform",
        default_environment=SYSTEM_ENVIRONMENT if shutil.which(COMPILER) else STOCK_ENVIRONMENT,
    )
