/* The loops over pairs of values of dsp_conv_pixels.h, for Cortex-M7, which issues two instructions a cycle.
 *
 * A cycle has one SMLAD at most, so a pair of values of two pixels takes eight. Loads and SXTB16 issue beside them: a
 * load as the younger of two, two cycles before its value is multiplied, SXTB16 as the older. Every step loads for the
 * next one as soon as a register is free, so that the values of the first step are loaded before the loop, and the last
 * step reads a word of weights (a factor) and values up to 8 bytes behind the strip in vain: `read_ahead_bytes` of a
 * board. All instructions have 4 bytes.
 */
#ifndef DSP_CONV_STEPS_DUAL_H
#define DSP_CONV_STEPS_DUAL_H

/* `more` is an instruction that issues beside an SMLAD. */
#define DSP_CONV_PACKED_TWO(distance, step, more) \
  "smlad r3, r12, r10, r3\n\t" \
  "ldr lr, [r1, #4]\n\t" \
  "smlad r7, r12, r11, r7\n\t" \
  more \
  "sxtb16 r12, r12\n\t" \
  "smlad r5, lr, r10, r5\n\t" \
  "smlad r9, lr, r11, r9\n\t" \
  "sxtb16 lr, lr\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "smlad r6, r12, r11, r6\n\t" \
  "ldr r12, [r1, #8]!\n\t" \
  "smlad r4, lr, r10, r4\n\t" \
  "ldr r10, [r0, #" step "]!\n\t" \
  "smlad r8, lr, r11, r8\n\t" \
  "ldr r11, [r0, #" distance "]\n\t"

#define DSP_CONV_WIDE_TWO(distance, step, more) \
  "smlad r2, r12, r10, r2\n\t" \
  "ldr lr, [r1, #4]\n\t" \
  "smlad r6, r12, r11, r6\n\t" \
  "ldr r12, [r1, #8]\n\t" \
  "smlad r3, lr, r10, r3\n\t" \
  more \
  "smlad r7, lr, r11, r7\n\t" \
  "ldr lr, [r1, #12]\n\t" \
  "smlad r4, r12, r10, r4\n\t" \
  "smlad r8, r12, r11, r8\n\t" \
  "ldr r12, [r1, #16]!\n\t" \
  "smlad r5, lr, r10, r5\n\t" \
  "ldr r10, [r0, #" step "]!\n\t" \
  "smlad r9, lr, r11, r9\n\t" \
  "ldr r11, [r0, #" distance "]\n\t"

#define DSP_CONV_BYTES_TWO(distance, step, more) \
  "sxtb16 lr, r12, ror #8\n\t" \
  "sxtb16 r12, r12\n\t" \
  "smlad r3, lr, r10, r3\n\t" \
  "smlad r7, lr, r11, r7\n\t" \
  "ldr lr, [r1, #4]\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  more \
  "smlad r6, r12, r11, r6\n\t" \
  "sxtb16 r12, lr, ror #8\n\t" \
  "sxtb16 lr, lr\n\t" \
  "smlad r5, r12, r10, r5\n\t" \
  "smlad r9, r12, r11, r9\n\t" \
  "ldr r12, [r1, #8]!\n\t" \
  "smlad r4, lr, r10, r4\n\t" \
  "ldr r10, [r0, #" step "]!\n\t" \
  "smlad r8, lr, r11, r8\n\t" \
  "ldr r11, [r0, #" distance "]\n\t"

/* Two steps take turns: an even one loads r8, r9 and r11 for the next, an odd one r12, lr and r10. The last load of the
 * even one and the first of the odd one issue together, so that both take nine cycles. They may begin with either.
 */
#define DSP_CONV_PACKED_STEPS \
  "sxtb16 r6, r12\n\t" \
  "smlad r3, r12, r10, r3\n\t" \
  "sxtb16 r7, lr\n\t" \
  "smlad r5, lr, r10, r5\n\t" \
  "smlad r2, r6, r10, r2\n\t" \
  "ldr r8, [r1, #8]!\n\t" \
  "smlad r4, r7, r10, r4\n\t" \
  "ldr r11, [r0, #4]!\n\t" \
  "ldr r9, [r1, #4]\n\t" \
  "ldr r12, [r1, #8]!\n\t" /* of the odd step */ \
  "sxtb16 r6, r8\n\t" \
  "smlad r3, r8, r11, r3\n\t" \
  "sxtb16 r7, r9\n\t" \
  "smlad r5, r9, r11, r5\n\t" \
  "smlad r2, r6, r11, r2\n\t" \
  "ldr r10, [r0, #4]!\n\t" \
  "smlad r4, r7, r11, r4\n\t" \
  "ldr lr, [r1, #4]\n\t"

#define DSP_CONV_BYTES_ONE \
  "sxtb16 r6, r12, ror #8\n\t" \
  "sxtb16 r12, r12\n\t" \
  "smlad r3, r6, r10, r3\n\t" \
  "sxtb16 r7, lr, ror #8\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "ldr r12, [r1, #8]!\n\t" \
  "sxtb16 lr, lr\n\t" \
  "smlad r5, r7, r10, r5\n\t" \
  "smlad r4, lr, r10, r4\n\t" \
  "ldr r10, [r0, #4]!\n\t" \
  "ldr lr, [r1, #4]\n\t"

#define DSP_CONV_WIDE_ONE \
  "smlad r2, r6, r10, r2\n\t" \
  "ldr.w r6, [r1, #16]!\n\t" \
  "smlad r3, r7, r10, r3\n\t" \
  "ldr.w r7, [r1, #4]\n\t" \
  "smlad r4, r8, r10, r4\n\t" \
  "ldr.w r8, [r1, #8]\n\t" \
  "smlad r5, r9, r10, r5\n\t" \
  "ldr r10, [r0, #4]!\n\t" \
  "ldr.w r9, [r1, #12]\n\t"

#define DSP_CONV_BYTES_STEPS DSP_CONV_BYTES_ONE DSP_CONV_BYTES_ONE
#define DSP_CONV_WIDE_STEPS DSP_CONV_WIDE_ONE DSP_CONV_WIDE_ONE

/* What the first step reads. */
#define DSP_CONV_BYTES_FIRST_ONE "ldr r10, [r0]\n\tldr r12, [r1]\n\tldr lr, [r1, #4]\n\t"
#define DSP_CONV_PACKED_FIRST_ONE \
  DSP_CONV_BYTES_FIRST_ONE "ldr r8, [r1]\n\tldr r11, [r0]\n\tldr r9, [r1, #4]\n\t"
#define DSP_CONV_WIDE_FIRST_ONE \
  "ldr r10, [r0]\n\tldr r6, [r1]\n\tldr r7, [r1, #4]\n\tldr r8, [r1, #8]\n\tldr r9, [r1, #12]\n\t"
#define DSP_CONV_FIRST_VALUES(distance) "ldr r10, [r0]\n\tldr r11, [r0, #" distance "]\n\t"
#define DSP_CONV_FIRST_TWO(distance) /* and the biases of the second pixel */ \
  "mov r6, r2\n\t" \
  "ldr r12, [r1]\n\t" \
  "mov r7, r3\n\t" \
  "ldr r10, [r0]\n\t" \
  "mov r8, r4\n\t" \
  "ldr r11, [r0, #" distance "]\n\t" \
  "mov r9, r5\n\t"

#define DSP_CONV_EIGHT(step) step step step step step step step step
#define DSP_CONV_UNROLL(step) DSP_CONV_EIGHT(step) DSP_CONV_EIGHT(step) DSP_CONV_EIGHT(step) DSP_CONV_EIGHT(step)

/* The sums of a block: all pairs of one kernel row; */
#define DSP_CONV_ROW(free, steps) \
  "ldr pc, [sp, #32]\n\t" /* entry */ \
  ".balign 8\n" \
  "2:\n\t" steps \
  "ldr " free ", [sp, #36]\n\t" /* end of the row */ \
  "cmp r0, " free "\n\t" \
  "bne 2b\n\t"
#define DSP_CONV_STEPS_ONE(layout) \
  DSP_CONV_##layout##_FIRST_ONE \
  DSP_CONV_ROW("r11", DSP_CONV_EIGHT(DSP_CONV_##layout##_STEPS) DSP_CONV_EIGHT(DSP_CONV_##layout##_STEPS))
#define DSP_CONV_STEPS_INTERLEAVED(layout) \
  DSP_CONV_FIRST_TWO("4") \
  DSP_CONV_ROW("lr", DSP_CONV_UNROLL(DSP_CONV_STEP_INTERLEAVED(layout)))

/* of kernel rows; */
#define DSP_CONV_ROWS(distance, steps) \
  "ldr r10, [sp, #36]\n\t" \
  "str r10, [sp, #52]\n\t" /* end of this row */ \
  DSP_CONV_FIRST_TWO(distance) \
  "ldr pc, [sp, #32]\n\t" \
  ".balign 8\n" \
  "2:\n\t" steps \
  "ldr lr, [sp, #52]\n\t" \
  "cmp r0, lr\n\t" \
  "bne 2b\n\t" \
  "ldr r11, [sp, #40]\n\t" /* end of the last one */ \
  "ldr r10, [sp, #8]\n\t" \
  "cmp r0, r11\n\t" \
  "beq 3f\n\t" \
  "ldr r11, [r10, #40]\n\t" /* gap_bytes */ \
  "ldr r10, [r10, #36]\n\t" /* row_bytes */ \
  "add r0, r11\n\t" \
  "add lr, r10\n\t" \
  "str lr, [sp, #52]\n\t" \
  DSP_CONV_FIRST_VALUES(distance) \
  "ldr pc, [sp, #32]\n\t"
#define DSP_CONV_STEPS_TWO(layout, distance) \
  DSP_CONV_ROWS(#distance, DSP_CONV_UNROLL(DSP_CONV_STEP(layout, distance)))

/* or one step after the other. */
#define DSP_CONV_STEPS_SHORT(layout, distance, steps) DSP_CONV_FIRST_TWO(#distance) "2:\n\t" steps
#define DSP_CONV_STEPS_INTERLEAVED_SHORT(steps) DSP_CONV_FIRST_TWO("4") "2:\n\t" steps
#define DSP_CONV_STEP_INTERLEAVED(layout) DSP_CONV_##layout##_TWO("4", "8", "")
#define DSP_CONV_STEP(layout, distance) DSP_CONV_##layout##_TWO(#distance, "4", "")
#define DSP_CONV_FIRST_INTERLEAVED DSP_CONV_STEP_INTERLEAVED
#define DSP_CONV_FIRST DSP_CONV_STEP
#define DSP_CONV_FIRST_TO_ROW DSP_CONV_STEP_TO_ROW
#define DSP_CONV_STEP_TO_ROW(layout, distance, gap) \
  DSP_CONV_##layout##_TWO(#distance, "4", "addw r0, r0, #" #gap "\n\t")

/* The outputs of a block of two pixels, in pairs, and the way to the next one. r12 has the first factor. */
#define DSP_CONV_OUTPUTS_PACKED_TWO \
  "sub r3, r3, r2\n\t" \
  "ldr r10, [sp, #28]\n\t" /* tail */ \
  "sub r5, r5, r4\n\t" \
  "ldr r0, [sp, #20]\n\t" /* offset */ \
  "sub r7, r7, r6\n\t" \
  "ldr lr, [r1, #4]\n\t" \
  "sub r9, r9, r8\n\t" \
  "cmp r10, #1\n\t" \
  "blt 4f\n\t" \
  "ldr r10, [r1, #8]\n\t" \
  "smmlar r2, r2, r12, r0\n\t" \
  "ldr r11, [r1, #12]\n\t" \
  "smmlar r4, r4, r10, r0\n\t" \
  "add.w r1, r1, #16\n\t" \
  "smmlar r3, r3, lr, r0\n\t" \
  "smmlar r5, r5, r11, r0\n\t" \
  "smmlar r6, r6, r12, r0\n\t" \
  "ldr r12, [sp, #4]\n\t" /* y */ \
  "pkhbt r2, r2, r4, lsl #16\n\t" \
  "smmlar r8, r8, r10, r0\n\t" \
  "pkhbt r3, r3, r5, lsl #16\n\t" \
  "smmlar r7, r7, lr, r0\n\t" \
  "smmlar r9, r9, r11, r0\n\t" \
  "ldr r10, [sp, #16]\n\t" /* y_step */ \
  "pkhbt r6, r6, r8, lsl #16\n\t" \
  "usat16 r2, #7, r2\n\t" \
  "ldr r11, [sp, #24]\n\t" /* high */ \
  "pkhbt r7, r7, r9, lsl #16\n\t" \
  "ldr lr, [sp, #12]\n\t" /* end */ \
  "usat16 r3, #7, r3\n\t" \
  "ldr r0, [sp]\n\t" /* x */ \
  "usat16 r7, #7, r7\n\t" \
  "usat16 r6, #7, r6\n\t" \
  "orr r2, r2, r3, lsl #8\n\t" \
  "add r3, r12, #4\n\t" \
  "uqadd8 r2, r2, r11\n\t" \
  "orr r6, r6, r7, lsl #8\n\t" \
  "uqadd8 r6, r6, r11\n\t" \
  "str r3, [sp, #4]\n\t" \
  "uqsub8 r2, r2, r11\n\t" \
  "cmp r1, lr\n\t" \
  "uqsub8 r6, r6, r11\n\t" \
  "str r6, [r12, r10]\n\t" \
  "str r2, [r12], #4\n\t" \
  "bne 1b\n\t" \
  "b 11f\n\t"

/* The same for outputs that are known before. `more` is the offset's register, which `load` loads, of SMMLAR. */
#define DSP_CONV_OUTPUTS_KNOWN_TWO(load, multiply, more, bits, last) \
  "sub r3, r3, r2\n\t" \
  "ldr lr, [r1, #4]\n\t" \
  "sub r5, r5, r4\n\t" \
  "ldr r10, [r1, #8]\n\t" \
  "sub r7, r7, r6\n\t" \
  "ldr r11, [r1, #12]\n\t" \
  "sub r9, r9, r8\n\t" \
  load \
  multiply " r2, r2, r12" more "\n\t" \
  "add.w r1, r1, #16\n\t" \
  multiply " r4, r4, r10" more "\n\t" \
  multiply " r3, r3, lr" more "\n\t" \
  multiply " r5, r5, r11" more "\n\t" \
  multiply " r6, r6, r12" more "\n\t" \
  "ldr r12, [sp, #4]\n\t" /* y */ \
  "pkhbt r2, r2, r4, lsl #16\n\t" \
  multiply " r8, r8, r10" more "\n\t" \
  "pkhbt r3, r3, r5, lsl #16\n\t" \
  multiply " r7, r7, lr" more "\n\t" \
  "ldr r10, [sp, #16]\n\t" /* y_step */ \
  multiply " r9, r9, r11" more "\n\t" \
  "ldr lr, [sp, #12]\n\t" /* end */ \
  "usat16 r2, " bits ", r2\n\t" \
  "pkhbt r6, r6, r8, lsl #16\n\t" \
  "usat16 r3, " bits ", r3\n\t" \
  "pkhbt r7, r7, r9, lsl #16\n\t" \
  "usat16 r6, " bits ", r6\n\t" \
  "ldr r0, [sp]\n\t" /* x */ \
  "usat16 r7, " bits ", r7\n\t" \
  "orr r2, r2, r3, lsl #8\n\t" \
  "orr r6, r6, r7, lsl #8\n\t" \
  last
#define DSP_CONV_OUTPUTS_RELU_TWO DSP_CONV_OUTPUTS_KNOWN_TWO("", "smmulr", "", "#7", "")
#define DSP_CONV_OUTPUTS_WHOLE_TWO \
  DSP_CONV_OUTPUTS_KNOWN_TWO("ldr.w r0, [sp, #20]\n\t", "smmlar", ", r0", "#8", \
                             "eor r2, r2, #0x80808080\n\teor r6, r6, #0x80808080\n\t")

/* Outputs by a product with an offset for each channel: factor and offset follow each other. */
#define DSP_CONV_OUTPUTS_SINGLE_TWO \
  "sub r3, r3, r2\n\t" \
  "ldr lr, [r1, #4]\n\t" \
  "sub r7, r7, r6\n\t" \
  "ldr r10, [r1, #8]\n\t" \
  "sub r5, r5, r4\n\t" \
  "ldr r11, [r1, #12]\n\t" \
  DSP_CONV_SINGLE_PRODUCT("r2", "r12", "lr") \
  "ldr r0, [r1, #28]\n\t" \
  DSP_CONV_SINGLE_PRODUCT("r6", "r12", "lr") \
  "ldr r12, [r1, #16]\n\t" \
  DSP_CONV_SINGLE_PRODUCT("r3", "r10", "r11") \
  "ldr lr, [r1, #20]\n\t" \
  DSP_CONV_SINGLE_PRODUCT("r7", "r10", "r11") \
  "ldr r10, [r1, #24]\n\t" \
  "sub r9, r9, r8\n\t" \
  DSP_CONV_SINGLE_PRODUCT("r4", "r12", "lr") \
  DSP_CONV_SINGLE_BYTE("r2", "") \
  DSP_CONV_SINGLE_PRODUCT("r8", "r12", "lr") \
  DSP_CONV_SINGLE_BYTE("r6", "") \
  DSP_CONV_SINGLE_PRODUCT("r5", "r10", "r0") \
  DSP_CONV_SINGLE_BYTE("r3", "+8") \
  DSP_CONV_SINGLE_PRODUCT("r9", "r10", "r0") \
  DSP_CONV_SINGLE_BYTE("r7", "+8") \
  "ldr r12, [sp, #4]\n\t" /* y */ \
  DSP_CONV_SINGLE_BYTE("r4", "") \
  "add.w r1, r1, #32\n\t" \
  DSP_CONV_SINGLE_BYTE("r8", "") \
  "ldr r10, [sp, #16]\n\t" /* y_step */ \
  DSP_CONV_SINGLE_BYTE("r5", "+8") \
  "ldr lr, [sp, #12]\n\t" /* end */ \
  DSP_CONV_SINGLE_BYTE("r9", "+8") \
  "ldr r0, [sp]\n\t" /* x */ \
  "bfi r2, r3, #8, #8\n\t" \
  "add r3, r12, #4\n\t" \
  "bfi r6, r7, #8, #8\n\t" \
  "cmp r1, lr\n\t" \
  "bfi r8, r9, #8, #8\n\t" \
  "str r3, [sp, #4]\n\t" \
  "bfi r4, r5, #8, #8\n\t" \
  "pkhbt r6, r6, r8, lsl #16\n\t" \
  "pkhbt r2, r2, r4, lsl #16\n\t" \
  "str r6, [r12, r10]\n\t" \
  "str r2, [r12], #4\n\t" \
  "bne 1b\n\t" \
  "b 11f\n\t"

#endif
