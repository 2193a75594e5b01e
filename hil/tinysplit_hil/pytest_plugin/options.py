"""Options of the pytest plugin. Their names begin with `tinysplit`, so that they are nobody else's."""

import pytest

RIG_OPTION, PROGRAMMER_OPTION = "--tinysplit-rig", "--tinysplit-programmer"
RIG_INI = "tinysplit_rig"
VIRTUAL = "virtual"


def add_options(parser: pytest.Parser) -> None:
    """Add all options."""
    group = parser.getgroup("tinysplit", "neural networks on STM32 boards (tinysplit)")
    group.addoption(
        RIG_OPTION,
        metavar="RIG",
        help="boards of tests that use the fixtures of tinysplit: `virtual`, or the rig file of real boards, which are "
        f"flashed where they run another image (default: the ini option {RIG_INI}, else virtual)",
    )
    group.addoption(
        PROGRAMMER_OPTION, metavar="NAME", default="openocd", help="program that flashes real boards (default: openocd)"
    )
    parser.addini(RIG_INI, f"default of {RIG_OPTION}; a path is relative to the ini file", default=VIRTUAL)


def rig_of(config: pytest.Config) -> str:
    """Return `virtual` or the path of a rig file: relative to where pytest was called, or to the ini file."""
    if option := config.getoption(RIG_OPTION):
        return str(option) if option == VIRTUAL else str(config.invocation_params.dir / option)
    ini = str(config.getini(RIG_INI))
    return ini if ini == VIRTUAL else str((config.inipath.parent if config.inipath else config.rootpath) / ini)
