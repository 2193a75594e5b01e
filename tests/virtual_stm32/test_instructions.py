"""Instructions as the cycle models see them, beside capstone's listing of the whole block."""

import capstone
import pytest

from virtual_stm32.core.instructions import decode
from virtual_stm32.errors import NotModelledError

START = 0x08000100
BLOCKS = {
    "a loop": "01 21 4f f0 00 0c 01 38 fb d1",  # movs, mov.w, subs, bne to mov.w
    "an IT block": "01 21 0c bf 02 20 03 20 01 39 f9 d1",  # movs, ite eq, moveq, movne, subs, bne
    "a hint and a call": "00 bf 00 f0 10 f8",  # nop, bl
    "no branch": "01 21 dd f8 04 30",  # movs, ldr.w
    "a branch before the end": "01 21 02 e0 01 22",  # movs, b, movs
}


def listed(code: bytes) -> list[tuple[int, str]]:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    lines = decoder.disasm_lite(code, 0)
    return [(address, f"{mnemonic} {operands}".strip()) for address, _, mnemonic, operands in lines]


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_instructions_are_those_of_the_whole_block(block: str) -> None:
    code = bytes.fromhex(block)
    decode(bytes.fromhex("01 21 01 38"), START)  # the same instructions elsewhere
    assert [(each.address - START, each.text) for each in decode(code, START)] == listed(code)


def test_those_of_an_it_block_are_conditional() -> None:
    instructions = decode(bytes.fromhex(BLOCKS["an IT block"]), START)
    assert [each.is_conditional for each in instructions] == [False, False, True, True, False, True]


def test_the_target_of_a_branch_counts_from_the_start_of_its_block() -> None:
    assert decode(bytes.fromhex(BLOCKS["a loop"]), START)[-1].immediate == 8 + 4 - 10  # bne at 8, 5 halfwords back


def test_bytes_that_are_no_instruction_are_named() -> None:
    with pytest.raises(NotModelledError, match="the bytes ffff at 0x08000102 are not an instruction"):
        decode(bytes.fromhex("01 21 ff ff"), START)
