"""Parts that found their flash erased at power-up start their boot loader, also when they have been programmed since.

Programming and resets leave the flag of that check as it is (`boards.debug_port.EmptyFlag`). st-flash even sets it: for
each page of an L4 that it erases it writes 1 to all bits of FLASH_SR but BSY (write_flash_cr_bker_pnb of stlink 1.7.0),
which toggles PEMPTY (stlink-org/stlink issue 1482).
"""

from contextlib import suppress

from tinysplit.boards.debug_port import DebugPort, EmptyFlag
from tinysplit.common.errors import ToolError
from tinysplit_hil.rig.commands import run_command
from tinysplit_hil.rig.programmers import READ_LIMIT_S, ProbeChoice, Programmer

UNPLUG = "its part may still start its boot loader, as after an erased flash: unplug the board and plug it in again"


def starts_program(programmer: Programmer, port: DebugPort, probe: ProbeChoice) -> bool:
    """Clear the flag of a part that was flashed, if it is set; return whether it is known to be clear.

    A part whose flag was cleared is reset.
    """
    flag = port.empty_flag
    if flag is None:
        return True
    with suppress(ToolError):  # the board itself tells whether it runs
        word = _register(programmer, port, flag, probe)
        if word is not None and flag.is_set(word) and programmer.set_register:
            run_command(programmer.set_register(port, flag.address, flag.clearing(word), probe), READ_LIMIT_S)
            word = _register(programmer, port, flag, probe)
        return word is not None and not flag.is_set(word)
    return False


def _register(programmer: Programmer, port: DebugPort, flag: EmptyFlag, probe: ProbeChoice) -> int | None:
    return programmer.read_words(probe, (port.idcode_address, flag.address)).get(flag.address)
