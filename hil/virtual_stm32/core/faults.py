"""Descriptions of faults at which Unicorn ends the emulation."""

from virtual_stm32.core.loaded_code import Protection
from virtual_stm32.core.mpu import Access
from virtual_stm32.core.native import CBlock, CBoardState, Reason

_BKPT = 7
_TRAPS = {
    1: "an undefined instruction",
    2: "a supervisor call (SVC), which is not modelled",
    3: "execution outside code memory",
    4: "an unaligned access, which this core cannot make",
    _BKPT: "a breakpoint (BKPT)",
}
_ACCESSES = {
    19: ("read", "is not mapped"),
    20: ("write", "is not mapped"),
    21: ("execution", "is not mapped"),
    22: ("write", "is flash"),
    23: ("read", "is not readable"),
    24: ("execution", "has no code"),
    25: ("read", "is in a word of flash whose errors cannot be corrected (ECC)"),
}
_KINDS = {"read": Access.READ, "write": Access.WRITE, "execution": Access.EXECUTE}


def explain(reason: Reason, state: CBoardState, protection: Protection) -> tuple[str, int]:
    """Return a description of the fault, and its program counter."""
    if reason == Reason.BAD_ACCESS:
        return _bad_access(state, protection)
    if reason == Reason.AT_BKPT:
        return _TRAPS[_BKPT], state.access_pc
    if place := protection.describe(Access.EXECUTE, state.access_pc, 2):
        return f"execution at 0x{state.access_pc:08x}, {place}", state.access_pc
    if reason == Reason.TRAPPED:
        return _TRAPS.get(state.fault_kind, f"exception {state.fault_kind}"), state.access_pc
    return "an instruction that this core lacks", state.access_pc


def _bad_access(state: CBoardState, protection: Protection) -> tuple[str, int]:
    """Describe an access fault; for a jump to an invalid address the program counter is the start of its block."""
    action, reason = _ACCESSES[state.fault_kind]
    place = protection.describe(_KINDS[action], state.fault_address, state.fault_size) or f"which {reason}"
    address = f"0x{state.fault_address:08x}"
    if action == "execution":
        pc = CBlock.from_address(state.current).address if state.current else state.access_pc
        return f"execution at {address}, {place}, reached", pc
    return f"{action} of {state.fault_size} bytes at {address}, {place}", state.access_pc


def no_stack(what: str, state: CBoardState, protection: Protection) -> str:
    """Return a description of a frame that cannot be, as `what` says, "written by ..." or "read by ..."."""
    access = Access.WRITE if what.startswith("written") else Access.READ
    place = protection.describe(access, state.fault_address, state.fault_size)
    return f"the stack at 0x{state.fault_address:08x}{f', {place},' if place else ''} cannot be {what}"
