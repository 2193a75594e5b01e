"""Checks, before anything is written, that each probe reaches the part that the board has."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console

from tinysplit.boards.board import board_title
from tinysplit.boards.debug_port import DebugPort
from tinysplit.common.errors import ToolError
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted
from tinysplit_hil.rig.programmers import ProbeChoice, Programmer, bank_command, unlock_command


@dataclass(frozen=True)
class ProbedPart:
    """The part that board `number` should have, and the probe that reaches it."""

    number: int
    probe: ProbeChoice
    port: DebugPort

    @property
    def title(self) -> str:
        """Board and probe, as in messages."""
        return f"{board_title(self.number, self.port.board)} at probe {self.probe.title}"

    @property
    def registers(self) -> tuple[int, int]:
        """Addresses of device id and option register."""
        return self.port.idcode_address, self.port.protection_address


def check_parts(parts: Sequence[ProbedPart], programmer: Programmer, messages: Console) -> None:
    """Raise ToolError unless each probe reaches its part, with the flash as the board has it, and not protected."""
    if not (parts and programmer.read):
        return
    with steps(messages, f"reading the parts of {counted(len(parts), 'board')} with {programmer.name}"):
        reasons = programmer.each({part.number: partial(_reason_against, part, programmer) for part in parts})
    wrong = [f"{part.title}: {reason}" for part in parts if (reason := reasons[part.number])]
    if wrong:
        raise ToolError(f"no board was flashed: {'; '.join(wrong)}")


def _reason_against(part: ProbedPart, programmer: Programmer) -> str | None:
    try:
        words = programmer.read_words(part.probe, part.registers)
    except ToolError as error:
        return error.message
    port = part.port
    idcode, options = (words.get(address) for address in part.registers)
    if idcode is None:
        return f"its device id cannot be read: is it a {port.board}? (`tinysplit bench discover` tells the part)"
    if not port.is_part(idcode):
        return (
            f"the part has device id {idcode & 0xFFF:#x}, a {port.board} has {port.device_id:#x}:"
            " put the [[board]]s of the rig file in the order of the project"
        )
    return None if options is None else reason_in_options(part, options)


def reason_in_options(part: ProbedPart, options: int) -> str | None:
    """Return what the option bytes of a part have against its image."""
    port, flag = part.port, part.port.bank_flag
    protection = port.protection(options)
    if port.has_product_state and protection != port.unprotected:
        how = "for ever" if protection == port.for_ever else "which debug authentication alone can take back (AN6008)"
        return f"its product state is {protection:#x}, not Open, {how}: use another board"
    if protection == port.for_ever:
        return "read-out protection level 2 is on, for ever: use another board"
    if protection != port.unprotected:
        return f"read-out protection is on: remove it, which erases the flash: {unlock_command(port, part.probe)}"
    if flag and not flag.is_right(options):
        return (
            f"its option bit {flag.name} is {1 - flag.value}, that of a {port.board} is {flag.value}: set it, after"
            f" which the flash has to be written anew: {bank_command(port, flag, part.probe)}"
        )
    return None
