"""Cycles of Cortex-M0+, counted by hand from Arm DDI 0484C, Table 3-1 (no wait states, single-cycle multiplier)."""

import pytest

from programs.virtual_snippets import Snippets

WFI = 2
COUNTS = {
    # Data processing: 1.
    "nop": 1,
    "movs r0, #1; adds r0, #2; muls r0, r0": 1 + 1 + 1,
    "muls r0, r1; muls r0, r1": 1 + 1,
    "lsls r0, r0, #3; lsrs r0, r1; rors r0, r1; asrs r0, r0, #1": 4 * 1,
    "uxtb r0, r1; sxth r0, r1; rev r0, r1; revsh r0, r1": 4 * 1,
    "adcs r0, r1; sbcs r0, r1; rsbs r0, r0, #0; mvns r0, r0": 4 * 1,
    "cmp r0, r1; cmn r0, r1; tst r0, r1": 3 * 1,
    "mov r8, r0; add r8, r1; cmp r8, r0": 3 * 1,
    "add r0, sp, #8; .balign 4; adr r1, 1f; nop; .balign 4; 1: nop": 1 + 1 + 1 + 1 + 1,
    "sub sp, #8; add sp, #8": 1 + 1,
    # Loads and stores: 2 each, whatever stands before them.
    "ldr r0, [r4]": 2,
    "ldr r0, [r4]; ldr r1, [r4, #4]": 2 + 2,
    "ldr r0, [r4]; adds r0, #1": 2 + 1,
    "ldr r0, =0x12345678": 2,
    "ldrb r0, [r4]; ldrh r1, [r4]; ldrsb r2, [r4, r6]; ldrsh r3, [r4, r6]": 4 * 2,
    "ldr r0, [r4, r6]; str r0, [r4, r6]": 2 + 2,
    "str r0, [r4]; ldr r1, [r4]": 2 + 2,
    "str r0, [r4]; str r1, [r4, #4]": 2 + 2,
    "strb r0, [r4]; strh r0, [r4]": 2 + 2,
    "adds r4, #4; ldr r0, [r4]": 1 + 2,
    "str r4, [r5]; ldr r0, [r5]; ldr r1, [r0]": 2 + 2 + 2,
    "sub sp, #8; str r0, [sp]; ldr r1, [sp, #4]; add sp, #8": 1 + 2 + 2 + 1,
    # Multiples: 1 + N.
    "ldm r4!, {r0}": 1 + 1,
    "ldm r4!, {r0, r1, r2, r3}": 1 + 4,
    "stm r4!, {r0, r1, r2, r3, r5, r6}": 1 + 6,
    "stm r4!, {r0, r1}; ldm r5!, {r0, r1}": (1 + 2) + (1 + 2),
    "push {r0-r3}; pop {r0-r3}": (1 + 4) + (1 + 4),
    "push {r0, lr}; pop {r0, r1}": (1 + 2) + (1 + 2),
    # Branches: 2 taken, 1 not taken; BL 3; POP with PC 3 + N. The alignment of the target does not matter.
    "b 1f; 1: nop": 2 + 1,
    "b 1f; nop; 1: nop": 2 + 1,
    "b 1f; nop; nop; 1: nop": 2 + 1,
    "movs r0, #0; beq 1f; nop; 1:": 1 + 2,
    "movs r0, #0; bne 1f; adds r0, #1; 1:": 1 + 1 + 1,
    "bl 1f; b 2f; 1: bx lr; 2:": 3 + 2 + 2,
    "bl 1f; b 2f; nop; 1: mov pc, lr; 2:": 3 + 2 + 2,
    "bl 1f; b 2f; 1: push {r4, lr}; pop {r4, pc}; 2:": 3 + (1 + 2) + (3 + 2) + 2,
    "adr r0, 1f; adds r0, #1; blx r0; b 2f; .balign 4; 1: bx lr; 2:": 1 + 1 + 2 + 2 + 2,
    "adr r0, 1f; mov pc, r0; .balign 4; 1: nop": 1 + 2 + 1,
    "nop; b 1f; nop; 1: bl 2f; 2: nop": 1 + 2 + 3 + 1,  # a BL that is not word-aligned: no cycle more is documented
    # Special registers and barriers: 3; CPS 1.
    "mrs r0, primask; msr primask, r0": 3 + 3,
    "dmb; dsb; isb": 3 + 3 + 3,
    "cpsid i; cpsie i": 1 + 1,
    # Loops.
    "movs r0, #5; 1: subs r0, #1; bne 1b": 1 + 5 * 1 + 4 * 2 + 1,
    "movs r0, #3; 1: ldr r1, [r4]; adds r4, #4; subs r0, #1; bne 1b": 1 + 3 * (2 + 1 + 1) + 2 * 2 + 1,
    "movs r0, #2; 1: ldm r4!, {r1, r2}; muls r1, r2; adds r3, r1; subs r0, #1; bne 1b": (
        1 + 2 * ((1 + 2) + 1 + 1 + 1) + 2 + 1
    ),
    "movs r0, #2; 1: movs r1, #3; 2: subs r1, #1; bne 2b; subs r0, #1; bne 1b": (
        1 + 2 * (1 + 3 * 1 + 2 * 2 + 1 + 1) + 2 + 1
    ),
    "movs r0, #3; 1: ldrb r1, [r4, r0]; strb r1, [r5, r0]; subs r0, #1; bpl 1b": 1 + 4 * (2 + 2 + 1) + 3 * 2 + 1,
}


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return Snippets(tmp_path_factory.mktemp("m0plus"), "nucleo_g071rb", COUNTS)


@pytest.mark.parametrize("piece", COUNTS)
def test_pieces_take_the_cycles_of_the_manual(snippets: Snippets, piece: str) -> None:
    assert snippets.cycles(piece) == COUNTS[piece] + WFI
