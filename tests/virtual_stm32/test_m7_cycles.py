"""Cycles of Cortex-M7, counted by hand from the rules that timing/cortex-m7.toml has with their sources."""

import pytest

from programs.virtual_snippets import Snippets

WFI = 1  # issues alone
EARLY, LATE = 6, 8  # penalties of a mispredicted branch: flags known 3 cycles before, or later
FPU_ON = ("ldr r8, =0xE000ED88", "ldr r9, =0x00F00000", "str r9, [r8]", "dsb", "isb")
PAIRS = {
    "nop": 1,
    "movs r0, #1; movs r1, #2": 1,
    "movs r0, #1; movs r1, #2; movs r2, #3": 2,
    "eor r0, r1, r2; eor r3, r1, r2": 1,
    # A dependent instruction waits, unless the early ALU executes ADD, SUB or MOV as the older one.
    "eor r0, r1, r2; eor r3, r0, r2": 1 + 1,
    "add r0, r1, r2; eor r3, r0, r2": 1,
    "movw r0, #1; movt r0, #1": 1,
    "eor r0, r1, r2; add r3, r0, r2; eor r6, r3, r2": 1 + 1 + 1,  # ADD is too late for the early ALU
    "eor r0, r1, r2; nop; nop; nop; add r3, r0, r2; eor r6, r3, r2": 1 + 1 + 1,
    "adds r0, r0, r1; adcs r3, r3, r1": 1 + 1,  # flags are not forwarded in the same cycle
    "cmp r3, #0; it eq; addeq r0, #1": 1 + 1,
    # One shifter for shifted operands and constants; the shifted operand is needed a cycle earlier.
    "add r0, r1, r2, lsl #3; add r3, r1, r2, lsl #3": 1 + 1,
    "add r0, r1, r2, lsl #3; add r3, r1, r2": 1,
    "eor r0, r1, #0x1fc0; eor r3, r1, #0x1fc0": 1 + 1,
    "eor r0, r1, #0x1b1b1b1b; eor r3, r1, #0x1b1b1b1b": 1,  # a pattern needs no shifter
    "lsl r0, r1, #3; lsr r3, r1, #2": 1,
    "lsl r0, r1, #3; eor r3, r2, r1, lsl #2": 1 + 1,
    "eor r0, r1, r2; nop; eor r3, r1, r0, lsl #2": 1 + 1 + 1,  # ready in cycle 2
    "eor r0, r1, r2; nop; eor r3, r0, r1, lsl #2": 1 + 1,  # r0 is not the shifted one
    # Bitfields and DSP: only older ones of a pair, one a pair.
    "uxtb r0, r1; uxtb r3, r1": 1 + 1,
    "uadd8 r0, r1, r2; eor r3, r1, r2": 1,
    "eor r3, r1, r2; uadd8 r0, r1, r2": 1 + 1,
    "clz r0, r1; add r3, r1, r2, lsl #1": 1,
    "ubfx r0, r1, #3, #4; add r3, r1, r2, lsl #1": 1 + 1,
    "ssat r0, #8, r1; eor r3, r0, r1": 2 + 1,  # latency 2
}
MULTIPLICATIONS = {
    "mul r0, r1, r2; mul r3, r1, r2": 1 + 1,
    "smlad r0, r1, r2, r3; eor r6, r1, r2": 1,
    "smlad r0, r1, r2, r3; add r6, r1, r2, lsl #1": 1,
    "mul r0, r1, r2; eor r3, r0, r1": 2 + 1,  # latency 2
    "mul r0, r1, r2; mul r3, r0, r1": 2 + 1,
    "smlad r0, r1, r2, r0; smlad r0, r1, r2, r0; smlad r0, r1, r2, r0": 1 + 1 + 1,  # sums are forwarded
    "smlal r0, r3, r1, r2; smlal r0, r3, r1, r2": 1 + 1,
    "eor r0, r1, r2; smlad r3, r1, r2, r0": 1,  # the sum is needed a cycle later
    "eor r0, r1, r2; smlad r3, r0, r1, r2": 1 + 1,
    "mul r0, r1, r2; str r3, [r4]": 1 + 1,  # never with a store
    "ldr r0, [r4]; smlad r3, r1, r2, r3": 1,
    "ldr r0, [r4]; smlad r3, r0, r1, r3": 2 + 1,  # a factor directly from a load
    "ldr r0, [r4]; smlad r3, r1, r2, r0": 1 + 1,
    "ldrh r0, [r4]; smlad r3, r1, r2, r0": 1 + 1,
    "ldrh r0, [r4]; smlad r3, r0, r1, r3": 2 + 1,
    # 2 for a zero; 3 for a divisor with more bits; else 5 + a quarter of the difference in bits: that of Cortex-M4
    "udiv r0, r3, r1": 2,
    "udiv r0, r0, r1": 5 + (7 - 3) // 4,
    "sdiv r0, r1, r0": 3,
    "movs r0, #100; udiv r0, r0, r1; eor r3, r0, r1": 1 + (5 + 1) + 1,
}
MEMORY = {
    "ldr r0, [r4]": 1,
    "ldr r0, [r4]; ldr r1, [r4, #4]": 1,  # an even and an odd word
    "ldr r0, [r4]; ldr r1, [r4, #8]": 1 + 1,
    "ldr r0, [r4]; ldr r1, [r5, #4]": 1,  # other bases: taken as another bank
    "ldrh r0, [r4]; ldrh r1, [r4, #2]": 1 + 1,
    # An operand that is shifted is read a cycle earlier, one that is rotated and extended is not.
    "ldr r0, [r4]; add.w r1, r2, r0, lsl #1": 1 + 1 + 1,
    "ldr r0, [r4]; sxtb16 r1, r0, ror #8": 1 + 1,
    "ldrb r0, [r4]; ldrb r1, [r4, #12]": 1,
    "ldr r0, [r4]; ldr r1, [r4, #4]; ldr r2, [r4, #8]; ldr r3, [r4, #12]": 1 + 1,
    "ldr r0, [r4]; eor r3, r0, r1": 1 + 1,  # load-use
    "ldrb r0, [r4]; eor r3, r0, r1": 2 + 1,  # bytes take a cycle longer
    "ldr r0, [r4]; eor r3, r1, r0, lsl #1": 2 + 1,
    "str r4, [r5]; ldr r0, [r5]; ldr r1, [r0]": 1 + 1 + 1,  # store and load go together, the address is ready in 2
    "eor r6, r3, r2; ldr r0, [r4, r6]": 2 + 1,  # an address from the late ALU
    "add r6, r3, r2; ldr r0, [r4, r6]": 1 + 1,  # and from the early one
    "ldr r0, [r4], #4; ldr r1, [r4], #4": 1 + 1,
    "ldr r0, [r4]; str r1, [r5]": 1,
    "ldr r0, [r4]; str r0, [r5]": 1,
    "str r0, [r4]; str r1, [r5]": 1 + 1,
    "eor r0, r1, r2; str r0, [r4]": 1,
    "ldm r4, {r0, r1, r2}; ldm r5, {r0, r1, r2, r3}": 2 + 2,
    "stm r4!, {r0, r1, r2, r3}; push {r0}; pop {r0}": 2 + 1 + 1,
    "nop; ldrd r0, r1, [r4]; nop": 1 + 1 + 1,
    "nop; strd r0, r1, [r4]; nop": 1 + 1 + 1,
    # Unaligned loads: 4 more.
    "ldr r0, [r4, #1]": 1 + 4,
    "ldrh r0, [r4, #2]; ldrh r1, [r4, #5]": 1 + 1 + 4,
    "str r0, [r4, #2]": 1,
}
OTHERS = {
    "mrs r0, primask; nop": 3 + 1,
    "dmb; dsb; isb": 3 + 3 + 8,
    "vadd.f32 s0, s1, s2; vmul.f32 s3, s1, s2": 1 + 1,
    "vadd.f32 s0, s1, s2; eor r0, r1, r2": 1,
    "vadd.f32 s0, s1, s2; vadd.f32 s3, s0, s1": 3 + 1,
    "vfma.f32 s0, s1, s2; vfma.f32 s0, s1, s2": 3 + 1,
    "vfma.f32 s0, s1, s2; vmul.f32 s3, s0, s2": 5 + 1,
    "vldr s0, [r4]; vadd.f32 s3, s0, s1": 1 + 1,
    "vdiv.f32 s0, s1, s2; nop": 16 + 1,
    "vmov s0, r0; nop": 1 + 1,
    "vmul.f64 d0, d1, d2; vadd.f64 d3, d1, d2": 5 + 2,
}
BRANCHES = {  # not in the predictor: predicted as not taken
    "b 1f; nop; nop; 1: nop": 1 + EARLY + 1,
    "movs r0, #1; cbz r0, 1f; nop; nop; 1:": 1 + 1,  # CBZ goes with MOVS, whose result is early
    "movs r0, #0; cbz r0, 1f; nop; nop; 1:": 1 + LATE,
    "cmp r3, #1; beq 1f; nop; nop; 1:": 1 + 1,
    "cmp r3, #0; beq 1f; nop; nop; 1:": 1 + LATE,
    "cmp r3, #0; nop; nop; nop; nop; nop; nop; beq 1f; nop; nop; 1:": 4 + EARLY,
    "cmp r3, #0; nop; nop; nop; nop; beq 1f; nop; nop; 1:": 3 + LATE,
    "cmp r3, #1; nop; beq 1f; nop; 1: nop": 1 + 1 + 1,  # a branch that is not taken pairs with what follows
    "bl 1f; b 2f; 1: bx lr; 2:": (1 + EARLY) + (1 + LATE) + (1 + EARLY),
    # The first iteration has no entry yet; the last leaves against the prediction. SUBS and BNE go together.
    "movs r0, #5; 1: subs r0, #1; bne 1b": 1 + 5 * 1 + LATE + LATE,
    "movs r0, #100; 1: subs r0, #1; bne 1b": 1 + 100 * 1 + LATE + LATE,
    "movs r0, #2; 1: subs r0, #1; bne 1b": 1 + 2 * 1 + LATE + LATE,
    # Three times three: the inner branch is taken again after it was not, since its counter is then weakly taken.
    "movs r0, #3; 1: movs r1, #3; 2: subs r1, #1; bne 2b; subs r0, #1; bne 1b": (
        (2 + 2 * 1 + 1) + 2 * (2 + 2 * 1 + 1) + (LATE + 3 * LATE) + (LATE + LATE)
    ),
    # A function that is called twice from different places: its return is predicted to the first.
    "mov r8, lr; movs r2, #2; bl 1f; bl 1f; b 2f; 1: bx lr; 2:": (
        1 + (1 + EARLY) + (1 + LATE) + (1 + EARLY) + (1 + LATE) + (1 + EARLY)
    ),
    # What Unicorn splits at a page is one block; a branch that enters behind the split finds no partner.
    "b 1f; .balign 1024; .space 1022; 1: movs r0, #1; movs r1, #2; 2:": (1 + EARLY) + 1,
    "b 1f; .balign 1024; .space 1022; 1: mul r0, r1; mul r3, r0, r1; 2:": (1 + EARLY) + 2 + 1,
    "b 1f; .balign 1024; .space 1022; 1: movs r0, #100; udiv r0, r0, r1": (1 + EARLY) + 1 + (5 + 1),
    "movs r0, #2; b 2f; nop; 1: cmp r0, #9; nop; beq 3f; 2: movs r2, #1; subs r0, #1; bne 1b; 3:": (
        (1 + EARLY) + (2 + LATE) + 2 + (1 + LATE)  # first a pair and BNE; then MOVS goes with BEQ, SUBS with BNE
    ),
    # Branches 256 bytes apart share an entry, and replace each other.
    "movs r0, #3; b 3f; .balign 256; 1: subs r0, #1; b 2f; .balign 256; 2: nop; bne 1b; b 4f; 3: b 1b; 4:": (
        (1 + EARLY) + (1 + EARLY) + 3 * (1 + EARLY) + 3 * 1 + 2 * LATE + (1 + EARLY)
    ),
}
COUNTS = PAIRS | MULTIPLICATIONS | MEMORY | OTHERS | BRANCHES


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return Snippets(tmp_path_factory.mktemp("m7"), "nucleo_h743zi", COUNTS, FPU_ON)


@pytest.mark.parametrize("piece", COUNTS)
def test_pieces_take_the_counted_cycles(snippets: Snippets, piece: str) -> None:
    assert snippets.cycles(piece) == COUNTS[piece] + WFI
