"""Cycles of Cortex-M4, counted by hand from Arm DDI 0439 and the measurements that timing/cortex-m4.toml names."""

import pytest

from programs.virtual_snippets import Snippets

WFI = 1
# Setup code switches the FPU on.
FPU_ON = ("ldr r8, =0xE000ED88", "ldr r9, =0x00F00000", "str r9, [r8]", "dsb", "isb")
DATA = {
    "nop": 1,
    "movs r0, #1; adds r0, #2; muls r0, r0": 1 + 1 + 1,
    "add.w r0, r1, r2, lsl #3; sub.w r0, r0, r1, asr #2": 1 + 1,
    "mla r0, r1, r2, r3; mls r0, r1, r2, r3": 1 + 1,
    "smlad r0, r1, r2, r3; smladx r0, r1, r2, r0": 1 + 1,
    "smlal r0, r1, r2, r3; umlal r0, r1, r2, r3; umaal r0, r1, r2, r3": 1 + 1 + 1,
    "smull r0, r1, r2, r3; smulbb r0, r1, r2; smmulr r0, r1, r2": 1 + 1 + 1,
    "ssat r0, #8, r1; sxtb16 r0, r1, ror #8; pkhbt r0, r1, r2, lsl #16": 1 + 1 + 1,
    "ubfx r0, r1, #3, #4; bfi r0, r1, #3, #4; rbit r0, r1; clz r0, r1": 4 * 1,
    "mrs r0, primask; msr primask, r0": 2 + 2,  # "1 or 2"
    "dsb; dmb; isb": 1 + 1 + 2,
    # IT counts 1: folding is not modelled. What it skips takes a cycle, too.
    "cmp r3, #0; ite eq; addeq r0, #1; addne r0, #2": 1 + 1 + 1 + 1,
    "cmp r3, #0; itttt ne; addne r0, #1; addne r0, #2; addne r0, #3; addne r0, #4": 1 + 1 + 4,
    "cmp r3, #0; it eq; ldreq r0, [r4]": 1 + 1 + 2,
}
DIVISIONS = {  # 2 for a zero; 3 for a divisor with more bits; else 5 + a quarter of the difference in bits: measured
    "movs r0, #0; udiv r0, r0, r1": 1 + 2,
    "movs r1, #0; udiv r0, r0, r1": 1 + 2,
    "movs r0, #3; movs r1, #8; udiv r0, r0, r1": 1 + 1 + 3,
    "movs r0, #7; movs r1, #4; udiv r0, r0, r1": 1 + 1 + 5,
    "movs r0, #128; movs r1, #8; udiv r0, r0, r1": 1 + 1 + (5 + (8 - 4) // 4),
    "mov r0, #-1; movs r1, #1; udiv r0, r0, r1": 1 + 1 + (5 + 31 // 4),
    "mov r0, #-1; movs r1, #1; sdiv r0, r0, r1": 1 + 1 + 5,
    "mov r0, #0x80000000; mov r1, #-1; sdiv r0, r0, r1": 1 + 1 + (5 + 31 // 4),
    "udiv r0, r0, r1; udiv r0, r0, r2": (5 + (7 - 3) // 4) + (5 + (4 - 2) // 4),  # 100 / 7 = 14, 14 / 3
}
LOADS = {
    "ldr r0, [r4]": 2,
    "ldr r0, [r4]; adds r0, #1": 2 + 1,
    "ldr r0, [r4]; ldr r1, [r4, #4]": 2 + 1,
    "ldr r0, [r4]; ldr r1, [r4, #4]; ldr r2, [r5]; ldr r3, [r5, r6]": 2 + 1 + 1 + 1,
    "ldrb r0, [r4]; ldrh r1, [r4]; ldrsb r2, [r4, #3]; ldrsh r3, [r4, #2]": 2 + 1 + 1 + 1,
    "ldr r0, [r4]; nop; ldr r1, [r4, #4]": 2 + 1 + 2,
    "str r4, [r5]; ldr r0, [r5]; ldr r1, [r0]": 1 + (1 + 2) + 2,  # the first gives the address of the second
    # With write-back, too, also of the same base.
    "ldr r0, [r4], #4; ldr r1, [r4], #4": 2 + 1,
    "ldr r0, [r4, #4]!; ldr r1, [r4]": 2 + 1,
    "ldr r0, [r4], #4; ldr r1, [r5], #4; ldr r2, [r4], #4; ldr r3, [r5], #4": 2 + 1 + 1 + 1,
    "ldr r0, [r4], #4; ldr r1, [r5]": 2 + 1,
    # A 32-bit load at an address 2 modulo 4 does not pipeline, a 16-bit one does.
    "ldr.w r0, [r4]; ldr.w r1, [r4, #4]": 2 + 1,
    "nop; ldr.w r0, [r4]; ldr.w r1, [r4, #4]": 1 + 2 + 2,
    "ldr.w r0, [r4]; ldr r1, [r4, #4]; ldr.w r2, [r4, #8]": 2 + 1 + 2,
    "nop; ldr.w r0, [r4]; ldr r1, [r4, #4]": 1 + 2 + 1,
    # The third 32-bit instruction in a row at such addresses takes one more.
    "nop; add.w r0, r1, r2; add.w r0, r1, r2": 1 + 1 + 1,
    "nop; add.w r0, r1, r2; add.w r0, r1, r2; add.w r0, r1, r2": 1 + 1 + 1 + (1 + 1),
    "nop; add.w r0, r1, r2; add.w r0, r1, r2; add.w r0, r1, r2; add.w r0, r1, r2": 1 + 1 + 1 + (1 + 1) + 1,
    "add.w r0, r1, r2; add.w r0, r1, r2; add.w r0, r1, r2": 1 + 1 + 1,
    # Stores take 1, with a register offset 2 unless they follow a load; a load behind a store takes one more.
    "str r0, [r4]; str r1, [r4, #4]": 1 + 1,
    "ldr r0, [r4]; str r0, [r5, #20]": 2 + 1,
    "ldr r0, [r4, r6]; str r1, [r5, r6]": 2 + 1,
    "nop; str r0, [r4, r6]": 1 + 2,
    "str r0, [r4, r6]; str r1, [r5, r6]": 2 + 2,
    "str r0, [r4]; ldr r1, [r4]": 1 + (1 + 2),
    "ldr r0, [r4]; str r0, [r5]; ldr r0, [r4, #4]; str r0, [r5, #4]": 2 + 1 + (1 + 2) + 1,
    "str r0, [r4], #4; str r1, [r5], #4": 1 + 1,
    "str r0, [r4], #4; str r1, [r4], #4": 1 + 1 + 1,  # the base is not written yet
    # An address from a data processing instruction directly before: 1 more.
    "adds r4, #4; ldr r0, [r4]": 1 + 1 + 2,
    "adds r4, #4; nop; ldr r0, [r4]": 1 + 1 + 2,
    "movs r6, #8; str r0, [r4, r6]": 1 + 1 + 2,
    "add r0, r4, #4; str r0, [r5]": 1 + 1,  # the value is not an address
    "mla r4, r3, r2, r4; ldr r0, [r4]": 1 + 1 + 2,
    "sub sp, #8; str r0, [sp]; add sp, #8": 1 + 1 + 1 + 1,
    "add r4, r4, #4; ldm r4, {r0, r1}": 1 + 1 + 3,
    # Doubles 1 + 2, multiples 1 + N; neither pipelines.
    "ldrd r0, r1, [r4]; strd r0, r1, [r5]": 3 + 3,
    "ldr r0, [r4]; ldrd r2, r3, [r4]; ldr r1, [r4]": 2 + 3 + 2,
    "ldm r4!, {r0, r1, r2, r3}; ldm r4!, {r0, r1}": (1 + 4) + (1 + 2),
    "stm r4!, {r0, r1, r2}; ldr r0, [r4]": (1 + 3) + 2,
    "push {r0-r3}; pop {r0-r3}": (1 + 4) + (1 + 4),
    "ldr r0, [r4]; ldm r5, {r1, r2}": 2 + 3,
    # Pipelining across a page, where Unicorn begins a new block; not if a branch enters there.
    "b 1f; .balign 1024; .space 1022; 1: ldr r2, [r4]; ldr r3, [r4, #4]": 2 + 2 + 1,
    "ldr r2, [r4]; b 1f; .balign 16; 1: ldr r3, [r4, #4]": 2 + 2 + 2,
}
UNALIGNED = {  # a halfword-aligned word 1 more, a byte-aligned one 2, a byte-aligned halfword 1; stores nothing
    "ldr r0, [r4, #1]": 2 + 2,
    "ldr r0, [r4, #2]": 2 + 1,
    "ldrh r0, [r4, #1]; ldrh r1, [r4, #2]": (2 + 1) + 1,
    "str r0, [r4, #1]; strh r0, [r4, #1]": 1 + 1,
    "adds r4, #2; nop; ldr r0, [r4]; ldr r1, [r4, #2]": 1 + 1 + (2 + 1) + 2,  # the last is a 32-bit one
    "mov r0, r4; nop; ldr r1, [r0, #1]": 1 + 1 + (2 + 2),
    # Through a loaded address: taken as aligned.
    "str r4, [r5]; ldr r0, [r5]; nop; ldr r1, [r0, #1]": 1 + (1 + 2) + 1 + 2,
    "movs r6, #3; nop; b 1f; nop; 1: ldr r0, [r4, r6]": 1 + 1 + 2 + (2 + 2),
    "adds r4, #1; movs r0, #3; 1: ldr r1, [r4], #1; subs r0, #1; bne 1b": (
        1 + 1 + (2 + 2) + (2 + 1) + (2 + 2) + 3 * 1 + 2 * 2 + 1  # at 1, 2 and 3 modulo 4; ADDS is not directly before
    ),
}
BRANCHES = {
    "b 1f; 1: nop": 2 + 1,
    "b 1f; nop; 1: nop": 2 + 1,
    "movs r0, #0; bne 1f; adds r0, #1; 1:": 1 + 1 + 1,
    "movs r0, #0; cbz r0, 1f; nop; 1:": 1 + 2,
    "movs r0, #1; cbz r0, 1f; nop; 1:": 1 + 1 + 1,
    "cmp r3, #0; it ne; bne 1f; nop; 1:": 1 + 1 + 1 + 1,
    "bl 1f; b 2f; 1: bx lr; 2:": 2 + 2 + 2,
    # A 32-bit target that is not word-aligned takes a second fetch; a 16-bit one does not.
    "b 1f; nop; 1: add.w r0, r1, r2": 2 + 1,
    "b 1f; nop; nop; 1: add.w r0, r1, r2": 2 + 1 + 1,
    "b 1f; nop; nop; 1: nop": 2 + 1,
    "movs r0, #3; 1: add.w r1, r1, #1; subs r0, #1; bne 1b": 1 + 3 * 3 + 2 * (1 + 1),
    "nop; movs r0, #3; 1: add.w r1, r1, #1; subs r0, #1; bne 1b": 1 + 1 + 3 * 3 + 2 * 1,
    # A target from memory: a refill takes 3.
    "bl 1f; b 2f; 1: push {r4, lr}; pop {r4, pc}; 2:": 2 + 3 + (1 + 2 + 3) + 2,
    "movs r0, #0; nop; tbb [pc, r0]; .byte 1, 0; 1: nop": 1 + 1 + (2 + 1 + 3) + 1,
    "movs r0, #5; 1: subs r0, #1; bne 1b": 1 + 5 + 4 * 2 + 1,
    "movs r0, #3; 1: ldr r1, [r4], #4; ldr r2, [r5], #4; mla r3, r1, r2, r3; subs r0, #1; bne 1b": (
        # The loop begins at 2 modulo 4 with three 32-bit instructions.
        1 + 3 * (2 + 2 + (1 + 1) + 1) + 2 * 2 + 1 + 2 * 1
    ),
}
FPU = {
    "vmov s0, r1; vmov.f32 s1, s0; vadd.f32 s3, s2, s2": 1 + 1 + 1,
    "vmul.f32 s1, s0, s0; vadd.f32 s2, s1, s0": 1 + (1 + 1),  # the result is used at once
    "vmul.f32 s1, s0, s0; nop; vadd.f32 s2, s1, s0": 1 + 1 + 1,
    "vfma.f32 s1, s0, s0; vmla.f32 s2, s0, s0": 3 + 3,
    "vdiv.f32 s2, s1, s0; vsqrt.f32 s3, s0": 14 + 14,
    "vldr s0, [r4]; vldr d1, [r4, #8]; vstr s0, [r5]": 2 + 3 + 2,
    "vpush {s16-s19}; vpop {s16-s19}; vpush {d8-d9}; vpop {d8-d9}": (1 + 4) + (1 + 4) + (1 + 4) + (1 + 4),
    "vcmp.f32 s0, s1; vmrs apsr_nzcv, fpscr": 1 + 1,
    "vmov r0, r1, s0, s1": 2,
}
COUNTS = DATA | DIVISIONS | LOADS | UNALIGNED | BRANCHES | FPU


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return Snippets(tmp_path_factory.mktemp("m4"), "nucleo_f401re", COUNTS, FPU_ON)


@pytest.mark.parametrize("piece", COUNTS)
def test_pieces_take_the_counted_cycles(snippets: Snippets, piece: str) -> None:
    assert snippets.cycles(piece) == COUNTS[piece] + WFI
