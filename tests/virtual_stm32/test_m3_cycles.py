"""Cycles of Cortex-M3 where they are not those of Cortex-M4: Arm DDI 0337, Instruction set summary (no wait states)."""

import pytest

from programs.virtual_snippets import Snippets

WFI = 1
COUNTS = {
    "mul r0, r1, r2; muls r0, r1": 1 + 1,
    "mla r0, r1, r2, r3; mls r0, r1, r2, r3": 2 + 2,
    "umull r0, r1, r2, r3; smull r0, r1, r2, r3": 5 + 5,  # 3 to 5: the longest
    "umlal r0, r1, r2, r3; smlal r0, r1, r2, r3": 7 + 7,  # 4 to 7
    "movs r0, #7; movs r1, #7; udiv r2, r0, r1": 1 + 1 + 5,
    "ssat r0, #8, r1; usat r0, #8, r1; sbfx r0, r1, #3, #4; bfi r0, r1, #3, #4": 4 * 1,
    "rbit r0, r1; clz r0, r1; movw r0, #1; movt r0, #1": 4 * 1,
    "ldr r0, [r4]; ldr r1, [r4, #4]": 2 + 1,  # pipelined
    "str r0, [r4]; nop": 1 + 1,
    "ldm r4, {r0, r1, r2}; push {r0-r3}; pop {r0-r3}": 4 + 5 + 5,
    "movs r0, #0; beq 1f; nop; 1:": 1 + 2,
    "movs r0, #0; bne 1f; adds r0, #1; 1:": 1 + 1 + 1,
}


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return Snippets(tmp_path_factory.mktemp("m3"), "nucleo_f103rb", COUNTS)


@pytest.mark.parametrize("piece", COUNTS)
def test_pieces_take_the_cycles_of_the_manual(snippets: Snippets, piece: str) -> None:
    assert snippets.cycles(piece) == COUNTS[piece] + WFI
