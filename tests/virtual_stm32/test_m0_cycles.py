"""Cycles of Cortex-M0, counted by hand from Arm DDI 0432C, Table 3-1 (no wait states, single-cycle multiplier)."""

import pytest

from programs.virtual_snippets import Snippets

WFI = 2 + 1  # and the branch behind it
COUNTS = {
    # Data processing: 1, on any register but PC.
    "movs r0, #1; adds r0, #2; muls r0, r0": 1 + 1 + 1,
    "lsls r0, r0, #3; lsrs r0, r1; uxtb r0, r1; rev r0, r1": 4 * 1,
    "mov r8, r0; add r8, r1; cmp r8, r0": 3 * 1,
    # Loads and stores: 2 each. Multiples: 1 + N.
    "ldr r0, [r4]; ldr r1, [r4, #4]": 2 + 2,
    "ldr r0, =0x12345678": 2,
    "ldrb r0, [r4]; ldrh r1, [r4]; ldrsb r2, [r4, r6]; ldrsh r3, [r4, r6]": 4 * 2,
    "str r0, [r4]; ldr r1, [r4]": 2 + 2,
    "ldm r4!, {r0, r1, r2, r3}": 1 + 4,
    "stm r4!, {r0, r1, r2, r3, r5, r6}": 1 + 6,
    "push {r0-r3}; pop {r0-r3}": (1 + 4) + (1 + 4),
    # Branches: 3 taken, 1 not taken; BL 4; POP with PC 4 + N.
    "b 1f; 1: nop": 3 + 1,
    "movs r0, #0; beq 1f; nop; 1:": 1 + 3,
    "movs r0, #0; bne 1f; adds r0, #1; 1:": 1 + 1 + 1,
    "bl 1f; b 2f; 1: bx lr; 2:": 4 + 3 + 3,
    "bl 1f; b 2f; nop; 1: mov pc, lr; 2:": 4 + 3 + 3,
    "bl 1f; b 2f; 1: push {r4, lr}; pop {r4, pc}; 2:": 4 + (1 + 2) + (4 + 2) + 3,
    "adr r0, 1f; adds r0, #1; blx r0; b 2f; .balign 4; 1: bx lr; 2:": 1 + 1 + 3 + 3 + 3,
    # Special registers and barriers: 4; CPS 1.
    "mrs r0, primask; msr primask, r0": 4 + 4,
    "dmb; dsb; isb": 4 + 4 + 4,
    "cpsid i; cpsie i": 1 + 1,
    # Loops.
    "movs r0, #5; 1: subs r0, #1; bne 1b": 1 + 5 * 1 + 4 * 3 + 1,
    "movs r0, #2; 1: ldm r4!, {r1, r2}; muls r1, r2; adds r3, r1; subs r0, #1; bne 1b": (
        1 + 2 * ((1 + 2) + 1 + 1 + 1) + 3 + 1
    ),
}


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return Snippets(tmp_path_factory.mktemp("m0"), "nucleo_f072rb", COUNTS)


@pytest.mark.parametrize("piece", COUNTS)
def test_pieces_take_the_cycles_of_the_manual(snippets: Snippets, piece: str) -> None:
    assert snippets.cycles(piece) == COUNTS[piece] + WFI
