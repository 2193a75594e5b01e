"""Instructions as the cycle models see them, beside capstone's listing of the whole block."""

from pathlib import Path

import capstone
import pytest

from tinysplit.common.cache import write_cached
from virtual_stm32.core import instructions
from virtual_stm32.core.instructions import DecodedProgram, decode, decoded_program
from virtual_stm32.errors import NotModelledError

START = 0x08000100
PROGRAM = decoded_program(b"")
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
    decode(PROGRAM, bytes.fromhex("01 21 01 38"), START)  # the same instructions elsewhere
    assert [(each.address - START, each.text) for each in decode(PROGRAM, code, START)] == listed(code)


def test_those_of_an_it_block_are_conditional() -> None:
    block = decode(PROGRAM, bytes.fromhex(BLOCKS["an IT block"]), START)
    assert [each.is_conditional for each in block] == [False, False, True, True, False, True]


def test_the_target_of_a_branch_counts_from_the_start_of_its_block() -> None:
    *_, branch = decode(PROGRAM, bytes.fromhex(BLOCKS["a loop"]), START)
    assert branch.immediate == 8 + 4 - 10  # bne at 8, 5 halfwords back


def test_bytes_that_are_no_instruction_are_named() -> None:
    with pytest.raises(NotModelledError, match="the bytes ffff at 0x08000102 are not an instruction"):
        decode(PROGRAM, bytes.fromhex("01 21 ff ff"), START)


def test_what_one_command_has_decoded_is_known_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = bytes.fromhex(BLOCKS["a loop"])
    first = DecodedProgram(b"program")
    listed_first = [each.text for each in decode(first, code, START)]
    first._keep()
    monkeypatch.setattr(instructions, "_decoded", None)
    assert [each.text for each in decode(DecodedProgram(b"program"), code, START)] == listed_first
    with pytest.raises(TypeError):
        decode(DecodedProgram(b"another"), code, START)


def test_of_two_commands_none_undoes_what_the_other_has_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    large, small = DecodedProgram(b"program"), DecodedProgram(b"program")
    for block in BLOCKS.values():
        decode(large, bytes.fromhex(block), START)
    other = bytes.fromhex("00 22")
    decode(small, other, START)
    large._keep()
    small._keep()
    assert DecodedProgram(b"program")._decoded.keys() == large._decoded.keys() | {(other, 0)}


def test_kept_instructions_that_cannot_be_loaded_count_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    write_cached(DecodedProgram._KIND, DecodedProgram._DECODER + b"program", b"no pickle")
    code = bytes.fromhex(BLOCKS["no branch"])
    assert [(each.address - START, each.text) for each in decode(DecodedProgram(b"program"), code, START)] == listed(
        code
    )
