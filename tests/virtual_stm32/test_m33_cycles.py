"""Cycles of Cortex-M33, counted by hand from the measurements that timing/cortex-m33.toml names."""

import pytest

from programs.virtual_snippets import Snippets

WFI = 1
# Setup code switches the FPU on.
FPU_ON = ("ldr r8, =0xE000ED88", "ldr r9, =0x00F00000", "str r9, [r8]", "dsb", "isb")
DATA = {
    "movs r0, #1; adds r0, #2": 1 + 1,
    "movs r0, #1; muls r0, r1, r0; adds r2, #1": 1 + 2 + 1,  # MULS and what sets flags by a shifted constant take 2
    "mul r0, r1, r2; adds r2, #1": 1 + 1,
    "add.w r0, r1, r2, lsl #3; sub.w r3, r4, r1, asr #2": 1 + 1,
    "add.w r0, r1, r2, lsl #3; adds r0, #1": 2 + 1,
    "add.w r0, r1, #0x1FC0; adds r0, #1": 2 + 1,
    "add.w r0, r1, #0x00FF00FF; adds r0, #1": 1 + 1,  # a pattern of a byte is not shifted
    "addw r0, r1, #0x123; adds r0, #1": 1 + 1,
    "adds.w r0, r1, #0x1FC0; adds r2, #1": 2 + 1,
    "uxtab r0, r1, r2; adds r0, #1": 2 + 1,
    "nop; adds r0, #1": 1,  # the one pair of no branch
    "adds r0, #1; nop; add.w r0, r1, r2": 1 + 1 + 1,
    "nop; add.w r0, r1, r2": 1 + 1,
    "cmp r3, #0; it eq; addeq r0, #1": 1 + 0 + 1,
}
PRODUCTS = {
    "smlad r0, r1, r2, r0; smlad r0, r1, r2, r0": 1 + 1,  # what is added is used a cycle later
    "smlad r0, r1, r2, r3; smlad r0, r0, r2, r3": 2 + 1,
    "mla r0, r1, r2, r3; adds r0, #1": 2 + 1,
    "mla r0, r1, r2, r3; str r0, [r4]": 1 + 1,
    "smlal r0, r1, r2, r3; smlal r0, r1, r2, r3": 1 + 1,
    "smlal r0, r1, r2, r3; adds r0, #1": 2 + 1,
    "sxtb16 r0, r1; smlad r2, r0, r1, r2": 1 + 1,
}
LOADS = {
    "ldr r0, [r4]; adds r0, #1": 2 + 1,
    "ldr r0, [r4]; movs r1, #1; adds r0, #1": 1 + 1 + 1,
    "ldr r0, [r4]; mla r1, r2, r3, r0": 1 + 1,
    "ldr r0, [r4]; mla r1, r0, r3, r2": 2 + 1,
    "ldr r0, [r4]; str r0, [r5]": 1 + 1,
    "ldr r0, [r4], #4; ldr r1, [r4], #4; ldr r2, [r4]": 1 + 1 + 1,
    "ldrd r0, r1, [r4]; strd r0, r1, [r5]": 2 + 2,
    "ldm r4!, {r0, r1, r2, r3}; stm r5!, {r0, r1}": 4 + 2,
    "push {r0-r3}; pop {r0-r3}": 4 + 4,
}
BRANCHES = {
    "movs r0, #5; 1: subs r0, #1; bne 1b": 1 + 4 * (1 + 2) + 1,  # 2 taken, 0 not taken
    "movs r0, #5; 1: subs r0, #1; adds.w r1, r1, #0; mov r2, r3; cmp r0, #0; it ne; bne 1b": (
        1 + 4 * (1 + 1 + 1 + 1 + 2) + (4 + 1)  # IT is in the pair
    ),
    "movs r0, #5; 1: subs r0, #1; mov r2, r3; bne 1b": 1 + 4 * (1 + 1 + 1) + 2,  # the flags are there before
    "movs r0, #5; 1: subs.w r0, r0, #1; bne 1b": 1 + 5 * 1 + 4 * (2 + 1) + 1,  # no pair; a second fetch
    "bl 1f; b 2f; 1: bx lr; 2:": 2 + 2 + 2,
    "b 1f; nop; nop; 1: add.w r0, r1, r2": 2 + 1 + 1,
}
FPU = {
    "vfma.f32 s1, s0, s0; vfma.f32 s2, s0, s0": 3 + 1,
    "vfma.f32 s1, s0, s0; mov r0, r1; mov r0, r1; vfma.f32 s2, s0, s0": 1 + 1 + 1 + 1,
    "vmul.f32 s1, s0, s0; vadd.f32 s2, s1, s0": 2 + 1,
    "vldr s0, [r4]; vstr s0, [r5]": 1 + 1,
}
COUNTS = DATA | PRODUCTS | LOADS | BRANCHES | FPU


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return Snippets(tmp_path_factory.mktemp("m33"), "nucleo_u575zi_q", COUNTS, FPU_ON)


@pytest.mark.parametrize("piece", COUNTS)
def test_pieces_take_the_counted_cycles(snippets: Snippets, piece: str) -> None:
    assert snippets.cycles(piece) == COUNTS[piece] + WFI
