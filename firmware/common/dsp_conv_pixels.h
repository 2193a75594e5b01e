/* Inner loops of dsp_conv.c: blocks of four output channels, for one pixel or for two.
 *
 * The weights of a block are four biases, then for every pair of values
 *
 *   packed  two words. The halves of the first are 256 * w1 + w0 of channels 0 and 1, the second has channels 2 and 3.
 *           SMLAD of such a word gives 256 times the sum of channel 1 plus that of channel 0; SXTB16 extracts the low
 *           bytes for the sum of channel 0 alone. 256 times the sum of channel 1 is the difference, which is exact if
 *           the sum fits 24 bits. So two channels share a word at the cost of one instruction;
 *   bytes   the same two words with bytes that SXTB16 extracts for both channels: 8 bits a weight for sums of any size;
 *   wide    four words of 16-bit weights, one for each channel;
 *
 * then four factors, and for requantization as in TensorFlow Lite four shifts, or behind each factor an offset.
 *
 * In assembler, because the loop needs all 14 registers: r2 to r9 are sums, those of the first pixel first, r0 and r1
 * point to values and weights, r10 and r11 are values, r12 and lr are weights. The stack holds x, y, run, the first
 * members of `run`, `entry` and `span` as addresses, and if kernel rows are looped over the ends of the last one and of
 * the present one.
 */
#ifndef DSP_CONV_PIXELS_H
#define DSP_CONV_PIXELS_H

#include <stddef.h>

#include "dsp_conv.h"
#include "dsp_conv_twin.h"

#if DSP_HAS_INSTRUCTIONS

#ifdef DSP_DUAL_ISSUE
#include "dsp_conv_steps_dual.h"
#else
#include "dsp_conv_steps.h"
#endif

/* The odd channels' sums. Packed ones are 256 times as large, which their factors allow for in products by upper
 * halves.
 */
#define DSP_CONV_PACKED_TRUE_ONE "sub r3, r3, r2\n\tsub r5, r5, r4\n\t"
#define DSP_CONV_PACKED_TRUE_TWO DSP_CONV_PACKED_TRUE_ONE "sub r7, r7, r6\n\tsub r9, r9, r8\n\t"
#define DSP_CONV_PACKED_ODD_ONE DSP_CONV_PACKED_TRUE_ONE
#ifdef DSP_DUAL_ISSUE
#define DSP_CONV_PACKED_ODD_TWO "" /* DSP_CONV_OUTPUTS_PACKED_TWO has subtracted them */
#else
#define DSP_CONV_PACKED_ODD_TWO DSP_CONV_PACKED_TRUE_TWO
#endif
#define DSP_CONV_PACKED_SHIFT_ONE DSP_CONV_PACKED_ODD_ONE "asr r3, r3, #8\n\tasr r5, r5, #8\n\t"
#define DSP_CONV_PACKED_SHIFT_TWO \
  DSP_CONV_PACKED_ODD_TWO "asr r3, r3, #8\n\tasr r5, r5, #8\n\tasr r7, r7, #8\n\tasr r9, r9, #8\n\t"
#define DSP_CONV_PACKED_MASK ""
#define DSP_CONV_WIDE_MASK "ldr r12, [sp, #44]\n\t"
#define DSP_CONV_WIDE_TRUE_ONE "and r2, r12\n\tand r3, r12\n\tand r4, r12\n\tand r5, r12\n\t"
#define DSP_CONV_WIDE_TRUE_TWO \
  DSP_CONV_WIDE_TRUE_ONE "and r6, r12\n\tand r7, r12\n\tand r8, r12\n\tand r9, r12\n\t"
#define DSP_CONV_WIDE_ODD_ONE ""
#define DSP_CONV_WIDE_ODD_TWO ""
#define DSP_CONV_WIDE_SHIFT_ONE ""
#define DSP_CONV_WIDE_SHIFT_TWO ""

/* What is done to the sums of the first pixel, or of both. */
#define DSP_CONV_EACH_ONE(first, second) first
#define DSP_CONV_EACH_TWO(first, second) first second

/* r0 is the offset; four factors. */
#define DSP_CONV_HIGH_OF(a, b, c, d) \
  "smmlar " a ", " a ", r10, r0\n\t" \
  "smmlar " b ", " b ", r11, r0\n\t" \
  "smmlar " c ", " c ", r12, r0\n\t" \
  "smmlar " d ", " d ", lr, r0\n\t"

/* The same without an offset. */
#define DSP_CONV_UPPER_OF(a, b, c, d) \
  "smmulr " a ", " a ", r10\n\t" \
  "smmulr " b ", " b ", r11\n\t" \
  "smmulr " c ", " c ", r12\n\t" \
  "smmulr " d ", " d ", lr\n\t"

/* r10 and r12 are the shifts, r11 the offset, lr the factor. */
#define DSP_CONV_SHIFT_OF(sum) \
  "asr " sum ", " sum ", r10\n\t" \
  "mla " sum ", " sum ", lr, r11\n\t" \
  "asr " sum ", " sum ", r12\n\t"
#define DSP_CONV_SHIFTED(each, a, b) "ldr lr, [r1], #4\n\t" each(DSP_CONV_SHIFT_OF(a), DSP_CONV_SHIFT_OF(b))

#define DSP_CONV_LIMIT(word) "ssub16 r12, " word ", r10\n\tsel " word ", " word ", r10\n\t" \
  "ssub16 r12, r11, " word "\n\tsel " word ", " word ", r11\n\t"
#define DSP_CONV_PAIR(low, high) \
  "ssat " low ", #16, " low "\n\tssat " high ", #16, " high "\n\tpkhbt " low ", " low ", " high ", lsl #16\n\t" \
  DSP_CONV_LIMIT(low)
#define DSP_CONV_JOIN(a, b) \
  "uxtb16 " a ", " a "\n\tuxtb16 " b ", " b "\n\torr " a ", " a ", " b ", lsl #8\n\t"

/* Four outputs of bytes from values that fit halves: in a word; r11 holds 255 minus the largest positive one. */
#define DSP_CONV_PACKED_PAIRS(a, b, c, d) \
  "pkhbt " a ", " a ", " c ", lsl #16\n\tpkhbt " b ", " b ", " d ", lsl #16\n\t"
#define DSP_CONV_PACKED_POSITIVE(a, b, c, d) \
  "usat16 " a ", #7, " a "\n\tusat16 " b ", #7, " b "\n\torr " a ", " a ", " b ", lsl #8\n\t"
#define DSP_CONV_PACKED_WHOLE(a, b, c, d) \
  "ssat16 " a ", #8, " a "\n\tssat16 " b ", #8, " b "\n\t" DSP_CONV_JOIN(a, b)
/* From -128 to 127, of values that are 128 too large. */
#define DSP_CONV_PACKED_RAISED(a, b, c, d) \
  "usat16 " a ", #8, " a "\n\tusat16 " b ", #8, " b "\n\torr " a ", " a ", " b ", lsl #8\n\t" \
  "eor " a ", " a ", #0x80808080\n\t"
#define DSP_CONV_PACKED_CAP(word) "uqadd8 " word ", " word ", r11\n\tuqsub8 " word ", " word ", r11\n\t"
#define DSP_CONV_PACKED_STORE_SECOND "str r6, [r12, r10]\n\t"
#define DSP_CONV_PACKED_STORE "str r2, [r12], #4\n"

/* Four outputs of halves: in the words `a` and `c`. */
#define DSP_CONV_WIDE_PAIRS(a, b, c, d) ""
#define DSP_CONV_WIDE_PACK(a, b, c, d) \
  "pkhbt " a ", " a ", " b ", lsl #16\n\tpkhbt " c ", " c ", " d ", lsl #16\n\t"
#define DSP_CONV_WIDE_POSITIVE(a, b, c, d) \
  "usat " a ", #15, " a "\n\tusat " b ", #15, " b "\n\tusat " c ", #15, " c "\n\tusat " d ", #15, " d "\n\t" \
  DSP_CONV_WIDE_PACK(a, b, c, d)
#define DSP_CONV_WIDE_WHOLE(a, b, c, d) \
  "ssat " a ", #16, " a "\n\tssat " b ", #16, " b "\n\tssat " c ", #16, " c "\n\tssat " d ", #16, " d "\n\t" \
  DSP_CONV_WIDE_PACK(a, b, c, d)
#define DSP_CONV_WIDE_CAP(word) ""
#define DSP_CONV_WIDE_LIMITS(limits) \
  "ldr lr, [sp, #28]\n\t" /* tail */ \
  "ldr r12, [sp, #8]\n\t" \
  "ldr r11, [sp, #24]\n\t" \
  "ldr r10, [r12, #52]\n\t" /* low */ \
  "cmp lr, #2\n\t" \
  "beq.w 7f\n\t" limits
#define DSP_CONV_WIDE_LIMITED_ONE DSP_CONV_WIDE_LIMITS(DSP_CONV_LIMIT("r2") DSP_CONV_LIMIT("r4"))
#define DSP_CONV_WIDE_LIMITED_TWO \
  DSP_CONV_WIDE_LIMITS(DSP_CONV_LIMIT("r2") DSP_CONV_LIMIT("r4") DSP_CONV_LIMIT("r6") DSP_CONV_LIMIT("r8"))
#define DSP_CONV_WIDE_STORE_SECOND "add.w r10, r12\n\tstr r6, [r10]\n\tstr r8, [r10, #4]\n\t"
#define DSP_CONV_WIDE_STORE "str r2, [r12], #4\n\tstr r4, [r12], #4\n"

#define DSP_CONV_BYTES_OF(a, b, c, d) \
  DSP_CONV_PAIR(a, c) DSP_CONV_PAIR(b, d) DSP_CONV_JOIN(a, b)
#define DSP_CONV_HALVES_OF(a, b, c, d) DSP_CONV_PAIR(a, b) DSP_CONV_PAIR(c, d)

/* Where the outputs of a block go, with what they are capped; the next block's values. */
#define DSP_CONV_PLACES \
  "ldr r11, [sp, #24]\n\t" /* high */ \
  "ldr r12, [sp, #4]\n\t" /* y */ \
  "ldr r10, [sp, #16]\n\t" /* y_step */ \
  "ldr lr, [sp, #12]\n\t" /* end */ \
  "ldr.w r0, [sp]\n\t" /* x */

/* Clamps of halves that are not positive. */
#define DSP_CONV_PACKED_BRANCH ""
#define DSP_CONV_PACKED_OTHER_ONE ""
#define DSP_CONV_PACKED_OTHER_TWO ""
#define DSP_CONV_WIDE_BRANCH "bne.w 5f\n\t"
#define DSP_CONV_WIDE_OTHER_ONE DSP_CONV_WIDE_OTHER(ONE)
#define DSP_CONV_WIDE_OTHER_TWO DSP_CONV_WIDE_OTHER(TWO)
#define DSP_CONV_WIDE_OTHER(count) \
  "5:\n\t" \
  DSP_CONV_EACH_##count(DSP_CONV_WIDE_WHOLE("r2", "r3", "r4", "r5"), DSP_CONV_WIDE_WHOLE("r6", "r7", "r8", "r9")) \
  DSP_CONV_WIDE_LIMITED_##count \
  "7:\n\t" \
  DSP_CONV_PLACES \
  "b 9b\n"

/* The outputs of a block, from its sums. */
#define DSP_CONV_OUTPUTS(layout, count) \
  "ldr.w r0, [sp, #20]\n\t" /* offset */ \
  "ldr r10, [sp, #28]\n\t" /* tail */ \
  DSP_CONV_##layout##_MASK \
  "cmp r10, #1\n\t" \
  "blt.w 4f\n\t" \
  DSP_CONV_##layout##_TRUE_##count \
  "ldm r1!, {r10, r11, r12, lr}\n\t" \
  DSP_CONV_EACH_##count(DSP_CONV_HIGH_OF("r2", "r3", "r4", "r5"), DSP_CONV_HIGH_OF("r6", "r7", "r8", "r9")) \
  DSP_CONV_EACH_##count(DSP_CONV_##layout##_PAIRS("r2", "r3", "r4", "r5"), \
                        DSP_CONV_##layout##_PAIRS("r6", "r7", "r8", "r9")) \
  DSP_CONV_##layout##_BRANCH \
  DSP_CONV_EACH_##count(DSP_CONV_##layout##_POSITIVE("r2", "r3", "r4", "r5"), \
                        DSP_CONV_##layout##_POSITIVE("r6", "r7", "r8", "r9")) \
  DSP_CONV_PLACES \
  DSP_CONV_EACH_##count(DSP_CONV_##layout##_CAP("r2"), DSP_CONV_##layout##_CAP("r6"))
#define DSP_CONV_OUTPUTS_PACKED_ONE DSP_CONV_OUTPUTS(PACKED, ONE)
#define DSP_CONV_OUTPUTS_WIDE_ONE DSP_CONV_OUTPUTS(WIDE, ONE)
#define DSP_CONV_OUTPUTS_WIDE_TWO DSP_CONV_OUTPUTS(WIDE, TWO)
#ifndef DSP_DUAL_ISSUE
#define DSP_CONV_OUTPUTS_PACKED_TWO DSP_CONV_OUTPUTS(PACKED, TWO)
#define DSP_CONV_OUTPUTS_RELU_TWO DSP_CONV_OUTPUTS_RELU(TWO)
#define DSP_CONV_OUTPUTS_WHOLE_TWO DSP_CONV_OUTPUTS_WHOLE(TWO)
#endif

/* The same for outputs that are known before: no tail, or cap. `offset` loads r0. */
#define DSP_CONV_OUTPUTS_KNOWN(count, offset, multiply, clamp) \
  DSP_CONV_PACKED_TRUE_##count \
  offset \
  "ldm r1!, {r10, r11, r12, lr}\n\t" \
  DSP_CONV_EACH_##count(multiply("r2", "r3", "r4", "r5"), multiply("r6", "r7", "r8", "r9")) \
  DSP_CONV_EACH_##count(DSP_CONV_PACKED_PAIRS("r2", "r3", "r4", "r5"), \
                        DSP_CONV_PACKED_PAIRS("r6", "r7", "r8", "r9")) \
  DSP_CONV_EACH_##count(clamp("r2", "r3", "r4", "r5"), clamp("r6", "r7", "r8", "r9")) \
  "ldr r12, [sp, #4]\n\t" /* y */ \
  "ldr r10, [sp, #16]\n\t" /* y_step */ \
  "ldr lr, [sp, #12]\n\t" /* end */ \
  "ldr.w r0, [sp]\n\t" /* x */
/* Bytes from 0 to 127 without a zero point, and from -128 to 127. */
#define DSP_CONV_OUTPUTS_RELU(count) DSP_CONV_OUTPUTS_KNOWN(count, "", DSP_CONV_UPPER_OF, DSP_CONV_PACKED_POSITIVE)
#define DSP_CONV_OUTPUTS_WHOLE(count) \
  DSP_CONV_OUTPUTS_KNOWN(count, "ldr.w r0, [sp, #20]\n\t", DSP_CONV_HIGH_OF, DSP_CONV_PACKED_RAISED)
#define DSP_CONV_OUTPUTS_RELU_ONE DSP_CONV_OUTPUTS_RELU(ONE)
#define DSP_CONV_OUTPUTS_WHOLE_ONE DSP_CONV_OUTPUTS_WHOLE(ONE)

/* The beginning of a function, to the sums of a block; */
#define DSP_CONV_BEGIN \
  ".syntax unified\n\t" \
  "push {r4-r11, lr}\n\t" \
  "ldm r3, {r4-r12}\n\t" \
  "adr lr, 2f\n\t" \
  "add r9, lr\n\t" /* entry */ \
  "add r10, r0\n\t" /* the end of the first row */ \
  "add r11, r10\n\t" \
  "push {r1, r2}\n\t" /* the weights; room for the end of a row */ \
  "push {r0, r2, r3, r4-r12}\n" \
  ".balign 8\n" \
  "1:\n\t" /* a block */ \
  "ldm.w r1!, {r2-r5}\n\t"

/* the way to the next block, and to the next pixels. */
#define DSP_CONV_NEXT \
  "8:\n\t" \
  "str r12, [sp, #4]\n\t" \
  "cmp r1, lr\n\t" \
  "bne 1b\n" \
  "11:\n\t" \
  "ldr r3, [sp, #92]\n\t" /* count */ \
  "ldr r2, [sp, #8]\n\t" /* run */ \
  "ldr r1, [sp, #48]\n\t" \
  "subs r3, #1\n\t" \
  "beq 10f\n\t" \
  "str r3, [sp, #92]\n\t" \
  "ldr r4, [r2, #44]\n\t" /* x_step */ \
  "ldr r5, [r2, #48]\n\t" /* y_gap */ \
  "ldr r6, [sp, #36]\n\t" \
  "ldr r7, [sp, #40]\n\t" \
  "add r0, r4\n\t" \
  "add r6, r4\n\t" \
  "add r7, r4\n\t" \
  "add r12, r5\n\t" \
  "str r0, [sp]\n\t" \
  "str r6, [sp, #36]\n\t" \
  "str r7, [sp, #40]\n\t" \
  "str r12, [sp, #4]\n\t" \
  "b 1b\n" \
  "10:\n\t" \
  "add sp, #56\n\t" \
  "pop {r4-r11, pc}\n"

/* A function; layout and count choose the pieces above. The second pixel is stored first: its output may lie at the
 * place of the first one.
 */
#define DSP_CONV_BODY(layout, count, sums) \
  __asm( \
    DSP_CONV_BEGIN \
    sums \
    "3:\n\t" \
    DSP_CONV_OUTPUTS_##layout##_##count \
    "\n9:\n\t" \
    DSP_CONV_EACH_##count("", DSP_CONV_##layout##_STORE_SECOND) \
    DSP_CONV_##layout##_STORE \
    DSP_CONV_NEXT \
    DSP_CONV_##layout##_OTHER_##count \
    "4:\n\t" \
    "ldr r12, [sp, #8]\n\t" \
    "ldr lr, [r12, #76]\n\t" /* any */ \
    "blx lr\n\t" \
    "ldr r0, [sp]\n\t" \
    "ldr lr, [sp, #12]\n\t" \
    "b 8b\n\t" \
  )

/* The same for bytes whose clamp is known before. */
#define DSP_CONV_RELU_BODY(layout, count, sums) DSP_CONV_KNOWN_BODY(count, sums, DSP_CONV_OUTPUTS_RELU_##count)
#define DSP_CONV_WHOLE_BODY(layout, count, sums) DSP_CONV_KNOWN_BODY(count, sums, DSP_CONV_OUTPUTS_WHOLE_##count)
#define DSP_CONV_KNOWN_BODY(count, sums, outputs) \
  __asm( \
    DSP_CONV_BEGIN \
    sums \
    "3:\n\t" \
    outputs \
    DSP_CONV_EACH_##count("", DSP_CONV_PACKED_STORE_SECOND) \
    DSP_CONV_PACKED_STORE \
    DSP_CONV_NEXT \
  )

/* The same for bytes from -128 to 127, as in TensorFlow Lite. */
#define DSP_CONV_ROUNDED_WHOLE_BODY(layout, count, sums, rounding) \
  __asm( \
    DSP_CONV_BEGIN \
    sums \
    "3:\n\t" \
    DSP_CONV_##layout##_TRUE_##count \
    "ldm r1!, {r10, r11, r12, lr}\n\t" \
    DSP_CONV_EACH_##count(DSP_CONV_UPPER_##rounding(layout, "r2", "r3", "r4", "r5"), \
                          DSP_CONV_UPPER_##rounding(layout, "r6", "r7", "r8", "r9")) \
    "ldm r1!, {r10, r11, r12, lr}\n\t" \
    "ldr.w r0, [sp, #20]\n\t" /* offset */ \
    DSP_CONV_EACH_##count(DSP_CONV_ROUNDED(DSP_CONV_ROUND_##rounding, "r2", "r3", "r4", "r5"), \
                          DSP_CONV_ROUNDED(DSP_CONV_ROUND_##rounding, "r6", "r7", "r8", "r9")) \
    DSP_CONV_EACH_##count(DSP_CONV_PACKED_PAIRS("r2", "r3", "r4", "r5"), \
                          DSP_CONV_PACKED_PAIRS("r6", "r7", "r8", "r9")) \
    DSP_CONV_EACH_##count(DSP_CONV_PACKED_WHOLE("r2", "r3", "r4", "r5"), \
                          DSP_CONV_PACKED_WHOLE("r6", "r7", "r8", "r9")) \
    DSP_CONV_PLACES \
    DSP_CONV_EACH_##count("", DSP_CONV_PACKED_STORE_SECOND) \
    DSP_CONV_PACKED_STORE \
    DSP_CONV_NEXT \
  )
/* The same outputs by a product with an offset, shifted by a constant: kernels/dsp/single_products.py. */
#define DSP_CONV_SINGLE_PRODUCT(sum, factor, offset) "smmla " sum ", " sum ", " factor ", " offset "\n\t"
#define DSP_CONV_SINGLE_BYTE(sum, more) "ssat " sum ", #8, " sum ", asr #" DSP_CONV_PRODUCT_SHIFT more "\n\t"
#define DSP_CONV_SINGLE_PAIR(even, odd) \
  DSP_CONV_SINGLE_PRODUCT(even, "r10", "r11") DSP_CONV_SINGLE_PRODUCT(odd, "r12", "lr") \
  DSP_CONV_SINGLE_BYTE(even, "") DSP_CONV_SINGLE_BYTE(odd, "+8") \
  "bfi " even ", " odd ", #8, #8\n\t"
#define DSP_CONV_OUTPUTS_SINGLE(count) \
  DSP_CONV_PACKED_TRUE_##count \
  "ldm r1!, {r10, r11, r12, lr}\n\t" \
  DSP_CONV_EACH_##count(DSP_CONV_SINGLE_PAIR("r2", "r3"), DSP_CONV_SINGLE_PAIR("r6", "r7")) \
  "ldm r1!, {r10, r11, r12, lr}\n\t" \
  DSP_CONV_EACH_##count(DSP_CONV_SINGLE_PAIR("r4", "r5"), DSP_CONV_SINGLE_PAIR("r8", "r9")) \
  "ldr r12, [sp, #4]\n\t" /* y */ \
  "ldr r10, [sp, #16]\n\t" /* y_step */ \
  "ldr lr, [sp, #12]\n\t" /* end */ \
  "ldr.w r0, [sp]\n\t" /* x */ \
  DSP_CONV_EACH_##count("pkhbt r2, r2, r4, lsl #16\n\t", "pkhbt r6, r6, r8, lsl #16\n\t") \
  DSP_CONV_EACH_##count("", DSP_CONV_PACKED_STORE_SECOND) \
  DSP_CONV_PACKED_STORE
#define DSP_CONV_OUTPUTS_SINGLE_ONE DSP_CONV_OUTPUTS_SINGLE(ONE)
#ifndef DSP_DUAL_ISSUE
#define DSP_CONV_OUTPUTS_SINGLE_TWO DSP_CONV_OUTPUTS_SINGLE(TWO)
#endif
#define DSP_CONV_SINGLE_BODY(layout, count, sums) \
  __asm( \
    DSP_CONV_BEGIN \
    sums \
    "3:\n\t" \
    DSP_CONV_OUTPUTS_SINGLE_##count \
    DSP_CONV_NEXT \
  )
#define DSP_CONV_TWICE_BODY(layout, count, sums) DSP_CONV_ROUNDED_WHOLE_BODY(layout, count, sums, TWICE)
#define DSP_CONV_ONCE_BODY(layout, count, sums) DSP_CONV_ROUNDED_WHOLE_BODY(layout, count, sums, ONCE)

/* What such a function calls for outputs of any kind: it stores them and returns where the first pixel's end in r12. */
#define DSP_CONV_ANY_BODY(layout, count) \
  __asm( \
    ".syntax unified\n\t" \
    "ldr r12, [sp, #8]\n\t" /* run */ \
    "push.w {lr}\n\t" \
    "ldr r10, [r12, #56]\n\t" /* is_high */ \
    "cmp r10, #0\n\t" \
    "beq.w 5f\n\t" \
    DSP_CONV_##layout##_ODD_##count \
    "ldm r1!, {r10, r11, r12, lr}\n\t" \
    DSP_CONV_EACH_##count(DSP_CONV_HIGH_OF("r2", "r3", "r4", "r5"), DSP_CONV_HIGH_OF("r6", "r7", "r8", "r9")) \
    "b.w 6f\n" \
    "5:\n\t" \
    DSP_CONV_##layout##_SHIFT_##count \
    "mov.w r11, r0\n\t" \
    "ldr r10, [r12, #64]\n\t" /* pre_shift */ \
    "ldr r12, [r12, #68]\n\t" /* post_shift */ \
    DSP_CONV_SHIFTED(DSP_CONV_EACH_##count, "r2", "r6") \
    DSP_CONV_SHIFTED(DSP_CONV_EACH_##count, "r3", "r7") \
    DSP_CONV_SHIFTED(DSP_CONV_EACH_##count, "r4", "r8") \
    DSP_CONV_SHIFTED(DSP_CONV_EACH_##count, "r5", "r9") \
    "6:\n\t" \
    "ldr.w r0, [sp, #8]\n\t" /* y */ \
    "ldr r12, [sp, #12]\n\t" /* run */ \
    "ldr r11, [sp, #28]\n\t" /* high */ \
    "ldr r10, [r12, #52]\n\t" /* low */ \
    "ldr lr, [r12, #60]\n\t" /* y_bytes */ \
    "cmp lr, #1\n\t" \
    "bne.w 7f\n\t" \
    DSP_CONV_EACH_##count(DSP_CONV_BYTES_OF("r2", "r3", "r4", "r5"), DSP_CONV_BYTES_OF("r6", "r7", "r8", "r9")) \
    DSP_CONV_EACH_##count("", "ldr r11, [sp, #20]\n\tstr r6, [r0, r11]\n\t") /* y_step */ \
    "str r2, [r0], #4\n\t" \
    "b 8f\n" \
    "7:\n\t" \
    DSP_CONV_EACH_##count(DSP_CONV_HALVES_OF("r2", "r3", "r4", "r5"), DSP_CONV_HALVES_OF("r6", "r7", "r8", "r9")) \
    DSP_CONV_EACH_##count("", "ldr r11, [sp, #20]\n\tadd r11, r0\n\tstr r6, [r11], #4\n\tstr r8, [r11]\n\t") \
    "str r2, [r0], #4\n\t" \
    "str r4, [r0], #4\n" \
    "8:\n\t" \
    "mov r12, r0\n\t" \
    "pop {pc}\n\t" \
  )
#define DSP_CONV_ANY_PIXELS(name, layout, count) \
  __attribute__((naked)) void name(void) { \
    DSP_CONV_ANY_BODY(layout, count); \
  }

/* The same for bytes that are requantized as in TensorFlow Lite, as dsp_rounded_twice() and dsp_rounded_once() of dsp.h
 * requantize a sum. r0 is the output's zero point.
 */
#define DSP_CONV_LEFT(bits, sum) "lsl " sum ", " sum ", #" bits "\n\t"
#define DSP_CONV_RIGHT(bits, sum) "asr " sum ", " sum ", #" bits "\n\t" /* of sums that are 256 times as large */
#define DSP_CONV_PACKED_MOVED(left, right, a, b, c, d) \
  DSP_CONV_LEFT(left, a) DSP_CONV_RIGHT(right, b) DSP_CONV_LEFT(left, c) DSP_CONV_RIGHT(right, d)
#define DSP_CONV_WIDE_MOVED(left, right, a, b, c, d) \
  DSP_CONV_LEFT(left, a) DSP_CONV_LEFT(left, b) DSP_CONV_LEFT(left, c) DSP_CONV_LEFT(left, d)
#define DSP_CONV_ALL_BY(multiply, a, b, c, d) \
  multiply " " a ", " a ", r10\n\t" \
  multiply " " b ", " b ", r11\n\t" \
  multiply " " c ", " c ", r12\n\t" \
  multiply " " d ", " d ", lr\n\t"
#define DSP_CONV_UPPER_TWICE(layout, a, b, c, d) \
  DSP_CONV_##layout##_MOVED("1", "7", a, b, c, d) DSP_CONV_ALL_BY("smmulr", a, b, c, d)
#define DSP_CONV_UPPER_ONCE(layout, a, b, c, d) \
  DSP_CONV_##layout##_MOVED("2", "6", a, b, c, d) DSP_CONV_ALL_BY("smmul", a, b, c, d)
#define DSP_CONV_ROUND_ONCE(sum, shift) "asrs " sum ", " sum ", " shift "\n\tadc " sum ", " sum ", r0\n\t"
#define DSP_CONV_ROUND_TWICE(sum, shift) \
  "adds " sum ", " sum ", " sum ", asr #31\n\t" DSP_CONV_ROUND_ONCE(sum, shift)
#define DSP_CONV_ROUNDED(round, a, b, c, d) round(a, "r10") round(b, "r11") round(c, "r12") round(d, "lr")
#define DSP_CONV_LIMITED_BYTES(a, b, c, d) \
  "ssat " a ", #8, " a "\n\tssat " b ", #8, " b "\n\tssat " c ", #8, " c "\n\tssat " d ", #8, " d "\n\t" \
  DSP_CONV_PACKED_PAIRS(a, b, c, d) DSP_CONV_JOIN(a, b) \
  "ssub8 r12, " a ", r10\n\tsel " a ", " a ", r10\n\tssub8 r12, r11, " a "\n\tsel " a ", " a ", r11\n\t"
#define DSP_CONV_ROUNDED_BODY(layout, count, rounding) \
  __asm( \
    ".syntax unified\n\t" \
    "push.w {lr}\n\t" \
    DSP_CONV_##layout##_ODD_##count \
    "ldm r1!, {r10, r11, r12, lr}\n\t" \
    DSP_CONV_EACH_##count(DSP_CONV_UPPER_##rounding(layout, "r2", "r3", "r4", "r5"), \
                          DSP_CONV_UPPER_##rounding(layout, "r6", "r7", "r8", "r9")) \
    "ldm r1!, {r10, r11, r12, lr}\n\t" \
    DSP_CONV_EACH_##count(DSP_CONV_ROUNDED(DSP_CONV_ROUND_##rounding, "r2", "r3", "r4", "r5"), \
                          DSP_CONV_ROUNDED(DSP_CONV_ROUND_##rounding, "r6", "r7", "r8", "r9")) \
    "ldr.w r0, [sp, #8]\n\t" /* y */ \
    "ldr r12, [sp, #12]\n\t" /* run */ \
    "ldr r11, [sp, #28]\n\t" /* high */ \
    "ldr r10, [r12, #52]\n\t" /* low */ \
    DSP_CONV_EACH_##count(DSP_CONV_LIMITED_BYTES("r2", "r3", "r4", "r5"), \
                          DSP_CONV_LIMITED_BYTES("r6", "r7", "r8", "r9")) \
    DSP_CONV_EACH_##count("", "ldr r11, [sp, #20]\n\tstr r6, [r0, r11]\n\t") /* y_step */ \
    "str r2, [r0], #4\n\t" \
    "mov r12, r0\n\t" \
    "pop {pc}\n\t" \
  )
#define DSP_CONV_ROUNDED_PIXELS(name, layout, count, rounding) \
  __attribute__((naked)) void name(void) { \
    DSP_CONV_ROUNDED_BODY(layout, count, rounding); \
  }

/* The same from weights as bytes: outputs are those of wide ones. */
#define DSP_CONV_BYTES_BODY(layout, count, sums) DSP_CONV_BODY(WIDE, count, sums)

_Static_assert(offsetof(dsp_conv_run, any) == 76, "offsets of members stand in the text above");

#define DSP_CONV_FUNCTION(name, text) \
  __attribute__((naked)) void name( \
      __attribute__((unused)) const int16_t *x, __attribute__((unused)) const int32_t *w, \
      __attribute__((unused)) void *y, __attribute__((unused)) const dsp_conv_run *run, \
      __attribute__((unused)) int32_t count) { \
    text; \
  }
#define DSP_CONV_ONE_PIXEL(name, layout, body) \
  DSP_ALIGNED DSP_CONV_FUNCTION( \
      name, body(layout, ONE, DSP_CONV_STEPS_ONE(layout)))
#define DSP_CONV_INTERLEAVED_PIXELS(name, layout, body) \
  DSP_ALIGNED DSP_CONV_FUNCTION( \
      name, body(layout, TWO, DSP_CONV_STEPS_INTERLEAVED(layout)))
#define DSP_CONV_INTERLEAVED_SHORT_PIXELS(name, layout, body, steps) \
  DSP_CONV_FUNCTION(name, body(layout, TWO, DSP_CONV_STEPS_INTERLEAVED_SHORT(steps)))
#define DSP_CONV_TWO_PIXELS(name, layout, body, distance) \
  DSP_CONV_FUNCTION( \
      name, body(layout, TWO, DSP_CONV_STEPS_TWO(layout, distance)))

/* `steps` are pairs of values, and the ways from row to row. */
#define DSP_CONV_SHORT_PIXELS(name, layout, body, distance, steps) \
  DSP_CONV_FUNCTION(name, body(layout, TWO, DSP_CONV_STEPS_SHORT(layout, distance, steps)))

#else

/* Twins compute outputs of any kind by themselves. */
#define DSP_CONV_ANY_PIXELS(name, layout, count) \
  void name(void) { \
  }
#define DSP_CONV_ROUNDED_PIXELS(name, layout, count, rounding) DSP_CONV_ANY_PIXELS(name, layout, count)
#define DSP_CONV_TWIN(name, layout, together, distance, step) \
  void name(const int16_t *x, const int32_t *w, void *y, const dsp_conv_run *run, int32_t count) { \
    dsp_conv_twin(x, w, y, run, count, DSP_CONV_##layout, together, distance, step); \
  }
#define DSP_CONV_ONE_PIXEL(name, layout, body) DSP_CONV_TWIN(name, layout, 1, 0, 4)
#define DSP_CONV_INTERLEAVED_PIXELS(name, layout, body) DSP_CONV_TWIN(name, layout, 2, 4, 8)
#define DSP_CONV_INTERLEAVED_SHORT_PIXELS(name, layout, body, steps) DSP_CONV_TWIN(name, layout, 2, 4, 8)
#define DSP_CONV_TWO_PIXELS(name, layout, body, distance) DSP_CONV_TWIN(name, layout, 2, distance, 4)
#define DSP_CONV_SHORT_PIXELS(name, layout, body, distance, steps) DSP_CONV_TWIN(name, layout, 2, distance, 4)

#endif
#endif
