/* The loops over pairs of values of dsp_conv_pixels.h, for cores that issue one instruction a cycle.
 *
 * Loads stand together, because on Cortex-M4 the first of several takes a cycle more. All instructions have 4 bytes and
 * stand at multiples of 4, where loads pipeline.
 * Weights are read one after the other: a serial flash would begin a new command for any other address.
 */
#ifndef DSP_CONV_STEPS_H
#define DSP_CONV_STEPS_H

/* r6 to r9 are what the sums of the second pixel are added to: themselves, or the biases of the first one. */
#define DSP_CONV_PACKED_TWO(distance, step, r6, r7, r8, r9) \
  "ldr r12, [r1], #8\n\t" \
  "ldr r11, [r0, #" distance "]\n\t" \
  "ldr r10, [r0], #" step "\n\t" \
  "ldr lr, [r1, #-4]\n\t" \
  "smlad r7, r12, r11, " r7 "\n\t" \
  "smlad r3, r12, r10, r3\n\t" \
  "sxtb16 r12, r12\n\t" \
  "smlad r9, lr, r11, " r9 "\n\t" \
  "smlad r5, lr, r10, r5\n\t" \
  "sxtb16 lr, lr\n\t" \
  "smlad r6, r12, r11, " r6 "\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "smlad r8, lr, r11, " r8 "\n\t" \
  "smlad r4, lr, r10, r4\n\t"

#define DSP_CONV_WIDE_TWO(distance, step, r6, r7, r8, r9) \
  "ldr r12, [r1], #16\n\t" \
  "ldr r11, [r0, #" distance "]\n\t" \
  "ldr r10, [r0], #" step "\n\t" \
  "ldr lr, [r1, #-12]\n\t" \
  "smlad r6, r12, r11, " r6 "\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "smlad r7, lr, r11, " r7 "\n\t" \
  "smlad r3, lr, r10, r3\n\t" \
  "ldr r12, [r1, #-8]\n\t" \
  "ldr lr, [r1, #-4]\n\t" \
  "smlad r8, r12, r11, " r8 "\n\t" \
  "smlad r4, r12, r10, r4\n\t" \
  "smlad r9, lr, r11, " r9 "\n\t" \
  "smlad r5, lr, r10, r5\n\t"

#define DSP_CONV_BYTES_TWO(distance, step, r6, r7, r8, r9) \
  "ldr r12, [r1], #8\n\t" \
  "ldr r11, [r0, #" distance "]\n\t" \
  "ldr r10, [r0], #" step "\n\t" \
  "sxtb16 lr, r12, ror #8\n\t" \
  "sxtb16 r12, r12\n\t" \
  "smlad r7, lr, r11, " r7 "\n\t" \
  "smlad r3, lr, r10, r3\n\t" \
  "smlad r6, r12, r11, " r6 "\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "ldr r12, [r1, #-4]\n\t" \
  "sxtb16 lr, r12, ror #8\n\t" \
  "sxtb16 r12, r12\n\t" \
  "smlad r9, lr, r11, " r9 "\n\t" \
  "smlad r5, lr, r10, r5\n\t" \
  "smlad r8, r12, r11, " r8 "\n\t" \
  "smlad r4, r12, r10, r4\n\t"

#define DSP_CONV_PACKED_ONE \
  "ldr r12, [r1], #8\n\t" \
  "ldr r10, [r0], #4\n\t" \
  "ldr lr, [r1, #-4]\n\t" \
  "smlad r3, r12, r10, r3\n\t" \
  "smlad r5, lr, r10, r5\n\t" \
  "sxtb16 r12, r12\n\t" \
  "sxtb16 lr, lr\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "smlad r4, lr, r10, r4\n\t"

#define DSP_CONV_BYTES_ONE \
  "ldr r12, [r1], #8\n\t" \
  "ldr r10, [r0], #4\n\t" \
  "ldr lr, [r1, #-4]\n\t" \
  "sxtb16 r6, r12, ror #8\n\t" \
  "sxtb16 r12, r12\n\t" \
  "sxtb16 r7, lr, ror #8\n\t" \
  "sxtb16 lr, lr\n\t" \
  "smlad r3, r6, r10, r3\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "smlad r5, r7, r10, r5\n\t" \
  "smlad r4, lr, r10, r4\n\t"

#define DSP_CONV_WIDE_ONE \
  "ldr r12, [r1], #16\n\t" \
  "ldr r10, [r0], #4\n\t" \
  "ldr lr, [r1, #-12]\n\t" \
  "smlad r2, r12, r10, r2\n\t" \
  "smlad r3, lr, r10, r3\n\t" \
  "ldr r12, [r1, #-8]\n\t" \
  "ldr lr, [r1, #-4]\n\t" \
  "smlad r4, r12, r10, r4\n\t" \
  "smlad r5, lr, r10, r5\n\t"

#define DSP_CONV_EIGHT(step) step step step step step step step step
#define DSP_CONV_UNROLL(step) DSP_CONV_EIGHT(step) step step step step

/* The sums of a block: all pairs of one kernel row; */
#define DSP_CONV_ROW(steps) \
  "ldr pc, [sp, #32]\n\t" /* entry */ \
  ".balign 4\n" \
  "2:\n\t" steps \
  "ldr r12, [sp, #36]\n\t" /* end of the row */ \
  "cmp.w r0, r12\n\t" \
  "bne 2b\n\t"

/* of kernel rows; */
#define DSP_CONV_ROWS(steps) \
  "ldr r10, [sp, #36]\n\t" \
  "str r10, [sp, #52]\n\t" /* end of this row */ \
  "ldr pc, [sp, #32]\n\t" \
  ".balign 4\n" \
  "2:\n\t" steps \
  "ldr r12, [sp, #52]\n\t" \
  "cmp.w r0, r12\n\t" \
  "bne 2b\n\t" \
  "ldr lr, [sp, #40]\n\t" /* end of the last one */ \
  "ldr r10, [sp, #8]\n\t" \
  "cmp r0, lr\n\t" \
  "beq 3f\n\t" \
  "ldr r11, [r10, #36]\n\t" /* row_bytes */ \
  "ldr lr, [r10, #40]\n\t" /* gap_bytes */ \
  "add r12, r11\n\t" \
  "add r0, lr\n\t" \
  "str r12, [sp, #52]\n\t" \
  "ldr pc, [sp, #32]\n\t"

/* or one step after the other, the first of which takes the biases for both pixels. */
#define DSP_CONV_STRAIGHT(steps) "2:\n\t" steps

#define DSP_CONV_OWN "r6", "r7", "r8", "r9"
#define DSP_CONV_BIASES "r2", "r3", "r4", "r5"
#define DSP_CONV_BIAS "mov r6, r2\n\tmov r7, r3\n\tmov r8, r4\n\tmov r9, r5\n\t" /* of the second pixel */
#define DSP_CONV_STEPS_ONE(layout) DSP_CONV_ROW(DSP_CONV_UNROLL(DSP_CONV_##layout##_ONE))
#define DSP_CONV_STEPS_INTERLEAVED(layout) \
  DSP_CONV_BIAS DSP_CONV_ROW(DSP_CONV_UNROLL(DSP_CONV_STEP_INTERLEAVED(layout)))
#define DSP_CONV_STEPS_TWO(layout, distance) \
  DSP_CONV_BIAS DSP_CONV_ROWS(DSP_CONV_UNROLL(DSP_CONV_STEP(layout, distance)))
#define DSP_CONV_STEPS_SHORT(layout, distance, steps) DSP_CONV_STRAIGHT(steps)
#define DSP_CONV_STEPS_INTERLEAVED_SHORT(steps) DSP_CONV_STRAIGHT(steps)
#define DSP_CONV_TWO(layout, distance, step, ...) DSP_CONV_##layout##_TWO(distance, step, __VA_ARGS__)
#define DSP_CONV_FIRST_INTERLEAVED(layout) DSP_CONV_TWO(layout, "4", "8", DSP_CONV_BIASES)
#define DSP_CONV_STEP_INTERLEAVED(layout) DSP_CONV_TWO(layout, "4", "8", DSP_CONV_OWN)

/* A pair of values for DSP_CONV_STEPS_SHORT(), and the last of a kernel row: the next is `gap` bytes behind its end. */
#define DSP_CONV_FIRST(layout, distance) DSP_CONV_TWO(layout, #distance, "4", DSP_CONV_BIASES)
#define DSP_CONV_FIRST_TO_ROW(layout, distance, gap) DSP_CONV_FIRST(layout, distance) "add r0, #" #gap "\n\t"
#define DSP_CONV_STEP(layout, distance) DSP_CONV_TWO(layout, #distance, "4", DSP_CONV_OWN)
#define DSP_CONV_STEP_TO_ROW(layout, distance, gap) DSP_CONV_STEP(layout, distance) "add r0, #" #gap "\n\t"

#endif
