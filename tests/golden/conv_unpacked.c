/* layer 3, conv example
 *
 * 4x4x2 Q2.5 -> 4x4x4 Q2.5, 1216 MACs
 * window 3x3, stride 1x1, dilation 1x1, padding 1/1/1/1
 * 8-bit weights, scale 0.00879; requantization: factor 9, shift 10
 * ReLU fused: outputs from 0 to 127
 * scheme: interleaved, kernel: unpacked, 268 bytes of scratch
 */
#include "window.h"
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 4,
  OUT_WIDTH = 4,
  OUT_CHANNELS = 4,
  KERNEL_HEIGHT = 3,
  KERNEL_WIDTH = 3,
  STRIDE_HEIGHT = 1,
  STRIDE_WIDTH = 1,
  DILATION_HEIGHT = 1,
  DILATION_WIDTH = 1,
  PAD_TOP = 1,
  PAD_LEFT = 1,
  LOW = 0,
  HIGH = 127,
};

static const int32_t layer_3_weights[26] TINYSPLIT_WEIGHTS(layer_3_weights) = {
   -303039303,    -4786787,     -135694,     -131143, -1869604069,  -437948304, -1094825655, -1212726718,
   -993767601, -1313784772,  -875866538, -1431685835, -1751703006,  -555849367,  -774808484, -1532743889,
  -2088563186,  -218989187, -1650644952,  -656907421,  -336890250, -1970662123,           9,           9,
            9,           9,
};

enum {
  INPUTS = 18, /* of an output */
  UNROLL = 18,
  GROUPS = 5, /* of inputs whose sums of products fit 16 bits */
  CHANNELS = 4, /* output channels at a time: their words are unpacked to the scratch buffer */
};

/* Computes CHANNELS output channels of `pixels` pixels, whose windows follow each other in `x`.
 *
 * A word of weights holds those of two output channels, w0 + (w1 << 16), so that one multiplication makes two products.
 * The sum over a group of inputs starts with an offset that keeps both halves between 0 and 65535. For each pair of
 * channels, `packed` adds up whole words modulo 2^32, and `upper` their upper halves: the lower sum is the difference.
 */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_7M__)
__attribute__((naked, noipa)) static void layer_3_pixels(
    __attribute__((unused)) const uint8_t *x, __attribute__((unused)) int8_t *y,
    __attribute__((unused)) int32_t pixels, __attribute__((unused)) const int32_t *weights) {
  __asm(".syntax unified\n"
        ".macro multiply first, second @ two inputs by two pairs of channels; the last product stays in r5\n"
        "  ldrb r6, [r1, #\\first]\n"
        "  muls r2, r6\n"
        "  adds r7, r2\n"
        "  muls r3, r6\n"
        "  add r12, r3\n"
        "  ldrb r6, [r1, #\\second]\n"
        "  muls r4, r6\n"
        "  adds r7, r4\n"
        "  muls r5, r6\n"
        ".endm\n"
        ".macro end_group\n"
        "  add r5, r12\n"
        "  add r8, r7\n"
        "  lsrs r7, #16\n"
        "  add r10, r7\n"
        "  add r9, r5\n"
        "  lsrs r5, #16\n"
        "  add r11, r5\n"
        ".endm\n"
        ".macro requantize sum, factor @ r1 holds the offset\n"
        "  muls \\sum, \\factor\n"
        "  adds \\sum, r1\n"
        "  asrs \\sum, #10\n"
        "  cmp \\sum, #127\n"
        "  bls 9f\n"
        "  asrs \\sum, #31\n"
        "  movs \\factor, #127\n"
        "  bics \\factor, \\sum\n"
        "  movs \\sum, \\factor\n"
        "9:\n"
        ".endm\n"
        "  push {r4-r7, lr}\n"
        "  mov r4, r8\n"
        "  mov r5, r9\n"
        "  mov r6, r10\n"
        "  mov r7, r11\n"
        "  push {r4-r7}\n"
        "  ldr r4, =216 @ bytes: a word of four channels takes one of each\n"
        "  adds r4, r3\n"
        "  push {r0-r4}\n"
        "1: @ a pixel\n"
        "  ldr r0, [sp, #12]\n"
        "2: @ four channels\n"
        "  ldmia r0!, {r2-r5}\n"
        "  mov r8, r2\n"
        "  mov r9, r3\n"
        "  mov r10, r4\n"
        "  mov r11, r5\n"
        "  ldr r1, [sp]\n"
        "3: @ 18 inputs\n"
        "  ldmia r0!, {r2-r7}\n"
        "  mov r12, r6\n"
        "  multiply 2, 15\n"
        "  add r12, r5\n"
        "  ldmia r0!, {r2-r5}\n"
        "  multiply 9, 8\n"
        "  end_group\n"
        "  ldmia r0!, {r2-r7}\n"
        "  mov r12, r6\n"
        "  multiply 10, 7\n"
        "  add r12, r5\n"
        "  ldmia r0!, {r2-r5}\n"
        "  multiply 11, 6\n"
        "  end_group\n"
        "  ldmia r0!, {r2-r7}\n"
        "  mov r12, r6\n"
        "  multiply 3, 14\n"
        "  add r12, r5\n"
        "  ldmia r0!, {r2-r5}\n"
        "  multiply 12, 5\n"
        "  end_group\n"
        "  ldmia r0!, {r2-r7}\n"
        "  mov r12, r6\n"
        "  multiply 0, 17\n"
        "  add r12, r5\n"
        "  ldmia r0!, {r2-r5}\n"
        "  multiply 4, 13\n"
        "  end_group\n"
        "  ldmia r0!, {r2-r7}\n"
        "  mov r12, r6\n"
        "  multiply 16, 1\n"
        "  end_group\n"
        "4:\n"
        "  mov r2, r8\n"
        "  mov r3, r10\n"
        "  lsls r4, r3, #16\n"
        "  subs r2, r4\n"
        "  mov r4, r9\n"
        "  mov r5, r11\n"
        "  lsls r6, r5, #16\n"
        "  subs r4, r6\n"
        "  ldr r1, =512\n"
        "  ldmia r0!, {r6, r7}\n"
        "  requantize r2, r6\n"
        "  requantize r3, r7\n"
        "  ldmia r0!, {r6, r7}\n"
        "  requantize r4, r6\n"
        "  requantize r5, r7\n"
        "  ldr r7, [sp, #4]\n"
        "  strb r2, [r7, #0]\n"
        "  strb r3, [r7, #1]\n"
        "  strb r4, [r7, #2]\n"
        "  strb r5, [r7, #3]\n"
        "  adds r7, #4\n"
        "  str r7, [sp, #4]\n"
        "  ldr r6, [sp, #16]\n"
        "  cmp r0, r6\n"
        "  beq 5f\n"
        "  b 2b\n"
        "5:\n"
        "  ldr r1, [sp]\n"
        "  ldr r2, =18\n"
        "  adds r1, r2\n"
        "  str r1, [sp]\n"
        "  ldr r2, [sp, #8]\n"
        "  subs r2, #1\n"
        "  str r2, [sp, #8]\n"
        "  beq 6f\n"
        "  b 1b\n"
        "6:\n"
        "  add sp, #20\n"
        "  pop {r4-r7}\n"
        "  mov r8, r4\n"
        "  mov r9, r5\n"
        "  mov r10, r6\n"
        "  mov r11, r7\n"
        "  pop {r4-r7, pc}\n"
        ".ltorg\n"
  );
}
#else
static const uint8_t layer_3_group_sizes[GROUPS] = {
  4, 4, 4, 4, 2,
};
static const uint8_t layer_3_order[UNROLL] = {
  2, 15, 9, 8, 10, 7, 11, 6, 3, 14, 12, 5, 0, 17, 4, 13, 16, 1,
};

static void layer_3_pixels(const uint8_t *x, int8_t *y, int32_t pixels, const int32_t *weights) {
  for (int32_t pixel = 0; pixel < pixels; pixel++) {
    const int32_t *word = weights;
    const int32_t channel = 0;
    uint32_t packed[2] = {(uint32_t)word[0], (uint32_t)word[1]};
    uint32_t upper[2] = {(uint32_t)word[2], (uint32_t)word[3]};
    word += 4;
    for (int32_t input = 0, group = 0; input < INPUTS; group = (group + 1) % GROUPS) {
      const int32_t end = input + layer_3_group_sizes[group];
      uint32_t sums[2] = {(uint32_t)word[5], (uint32_t)word[4]};
      for (int32_t first = input; input < end; input += 2) {
        for (int32_t i = 0; i < 4; i++) {
          const int32_t place = input + i / 2;
          sums[i % 2] += (uint32_t)word[i] * x[place - place % UNROLL + layer_3_order[place % UNROLL]];
        }
        word += input == first ? 6 : 4;
      }
      for (int32_t i = 0; i < 2; i++) {
        packed[i] += sums[i];
        upper[i] += sums[i] >> 16;
      }
    }
    for (int32_t i = 0; i < 4; i++) {
      const uint32_t sum = i % 2 ? upper[i / 2] : packed[i / 2] - (upper[i / 2] << 16);
      y[channel + i] = (int8_t)fixed_point_requantize((int32_t)sum, 0, word[i], 512, 10, LOW, HIGH);
    }
    word += 4;
    x += INPUTS;
    y += OUT_CHANNELS;
  }
}
#endif

/* Unpacks the weights of CHANNELS channels, which are stored as four w + 128 in a word, and returns the end of them.
 * The offset of a group is the sum of -w over its negative weights, times the largest input.
 */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_7M__)
__attribute__((naked, noipa)) static const int32_t *layer_3_unpack(
    __attribute__((unused)) const int32_t *from, __attribute__((unused)) uint32_t *to) {
  __asm(".syntax unified\n"
        ".macro unpack_one\n"
        "  ldmia r0!, {r2}\n"
        "  lsrs r3, r2, #8\n"
        "  ands r2, r6\n"
        "  ands r3, r6\n"
        "  movs r4, r2\n"
        "  ands r4, r7\n"
        "  lsrs r5, r4, #7\n"
        "  subs r4, r5\n"
        "  movs r5, r2\n"
        "  bics r5, r4\n"
        "  add r8, r5\n"
        "  subs r2, r7\n"
        "  movs r4, r3\n"
        "  ands r4, r7\n"
        "  lsrs r5, r4, #7\n"
        "  subs r4, r5\n"
        "  movs r5, r3\n"
        "  bics r5, r4\n"
        "  add r9, r5\n"
        "  subs r3, r7\n"
        "  stmia r1!, {r2, r3}\n"
        ".endm\n"
        "  push {r4-r7, lr}\n"
        "  mov r4, r8\n"
        "  mov r5, r9\n"
        "  mov r6, r10\n"
        "  mov r7, r11\n"
        "  push {r4-r7}\n"
        "  sub sp, #8 @ where the size of the next group is, and that of this one\n"
        "  movs r6, #0xFF\n"
        "  lsls r2, r6, #16\n"
        "  orrs r6, r2\n"
        "  movs r7, #0x80\n"
        "  lsls r2, r7, #16\n"
        "  orrs r7, r2\n"
        "  movs r2, #1\n"
        "  mov r11, r2\n"
        "1: @ four channels\n"
        "  ldmia r0!, {r2-r5}\n"
        "  stmia r1!, {r2-r5}\n"
        "  movs r2, #1\n"
        "  mov r12, r2\n"
        "2: @ 18 inputs\n"
        "  adr r2, 8f\n"
        "  str r2, [sp]\n"
        "3: @ a group\n"
        "  ldr r2, [sp]\n"
        "  ldrb r3, [r2]\n"
        "  adds r2, #1\n"
        "  str r2, [sp]\n"
        "  str r3, [sp, #4]\n"
        "  mov lr, r3\n"
        "  movs r2, #16\n"
        "  add r2, r1\n"
        "  mov r10, r2\n"
        "  movs r2, #0\n"
        "  mov r8, r2\n"
        "  mov r9, r2\n"
        "4: @ an input\n"
        "  unpack_one\n"
        "  cmp r1, r10\n"
        "  bne 5f\n"
        "  adds r1, #8\n"
        "5:\n"
        "  mov r2, lr\n"
        "  subs r2, #1\n"
        "  mov lr, r2\n"
        "  bne 4b\n"
        "  ldr r5, [sp, #4]\n"
        "  muls r5, r7\n"
        "  mov r3, r9\n"
        "  subs r3, r5, r3\n"
        "  mov r2, r8\n"
        "  subs r2, r5, r2\n"
        "  movs r4, #255\n"
        "  muls r2, r4\n"
        "  muls r3, r4\n"
        "  mov r4, r10\n"
        "  str r3, [r4]\n"
        "  str r2, [r4, #4]\n"
        "  ldr r2, [sp]\n"
        "  ldrb r2, [r2]\n"
        "  cmp r2, #0\n"
        "  bne 3b\n"
        "  mov r2, r12\n"
        "  subs r2, #1\n"
        "  mov r12, r2\n"
        "  bne 2b\n"
        "  ldmia r0!, {r2-r5}\n"
        "  stmia r1!, {r2-r5}\n"
        "  mov r2, r11\n"
        "  subs r2, #1\n"
        "  mov r11, r2\n"
        "  bne 1b\n"
        "  add sp, #8\n"
        "  pop {r4-r7}\n"
        "  mov r8, r4\n"
        "  mov r9, r5\n"
        "  mov r10, r6\n"
        "  mov r11, r7\n"
        "  pop {r4-r7, pc}\n"
        ".ltorg\n"
        ".balign 4\n"
        "8:\n"
        ".byte 4, 4, 4, 4, 2, 0\n"
        ".balign 4\n"
  );
}
#else
/* -w of two weights that are stored as w + 128, 0 if w is positive. */
TINYSPLIT_INLINE uint32_t negatives(uint32_t weights) {
  const uint32_t positive = weights & 0x00800080;
  return 0x00800080 - (weights & ~(positive - (positive >> 7)));
}

/* Unpacks four weights w + 128 to two words, and adds -w of the negative ones to sums of the same layout. */
TINYSPLIT_INLINE uint32_t *unpack_one(uint32_t weights, uint32_t *to, uint32_t *even_negatives,
                                      uint32_t *odd_negatives) {
  const uint32_t even = weights & 0x00FF00FF;
  const uint32_t odd = (weights >> 8) & 0x00FF00FF;
  *even_negatives += negatives(even);
  *odd_negatives += negatives(odd);
  *to++ = even - 0x00800080;
  *to++ = odd - 0x00800080;
  return to;
}

static const int32_t *layer_3_unpack(const int32_t *from, uint32_t *to) {
  for (int32_t i = 0; i < 4; i++) {
    *to++ = (uint32_t)*from++;
  }
  for (int32_t input = 0, group = 0; input < INPUTS; group = (group + 1 < GROUPS ? group + 1 : 0)) {
    uint32_t even = 0;
    uint32_t odd = 0;
    to = unpack_one((uint32_t)*from++, to, &even, &odd);
    to = unpack_one((uint32_t)*from++, to, &even, &odd);
    uint32_t *const offsets = to;
    to += 2;
    for (int32_t i = 2; i < layer_3_group_sizes[group]; i++) {
      to = unpack_one((uint32_t)*from++, to, &even, &odd);
    }
    offsets[0] = odd * 255; /* the largest input */
    offsets[1] = even * 255;
    input += layer_3_group_sizes[group];
  }
  for (int32_t i = 0; i < 4; i++) {
    *to++ = (uint32_t)*from++;
  }
  return from;
}
#endif

typedef uint8_t layer_3_unit;

enum { PIXEL = IN_CHANNELS / (int32_t)sizeof(layer_3_unit) };

/* Copies values x as x + 128. */
TINYSPLIT_INLINE layer_3_unit *copy(layer_3_unit *x, const layer_3_unit *from, int32_t units) {
#pragma GCC unroll 4
  for (int32_t i = 0; i < units; i++) {
    *x++ = (layer_3_unit)(*from++ ^ 0x80);
  }
  return x;
}

TINYSPLIT_INLINE layer_3_unit *fill(layer_3_unit *x, int32_t units) {
#pragma GCC unroll 4
  for (int32_t i = 0; i < units; i++) {
    *x++ = 0x80;
  }
  return x;
}

/* Copies the window whose first position is at (`top`, `left`), as unsigned values. */
static void layer_3_gather(const layer_3_unit *input, int32_t top, int32_t left, layer_3_unit *x) {
  for (int32_t k_row = 0; k_row < KERNEL_HEIGHT; k_row++) {
    const int32_t row = top + k_row * DILATION_HEIGHT;
    const layer_3_unit *from = input + (row * IN_WIDTH + left) * PIXEL;
    if (row < 0 || row >= IN_HEIGHT) {
      x = fill(x, KERNEL_WIDTH * PIXEL);
    } else if (left >= 0 && left + KERNEL_WIDTH <= IN_WIDTH) {
      x = copy(x, from, KERNEL_WIDTH * PIXEL);
    } else {
      for (int32_t k_column = 0; k_column < KERNEL_WIDTH; k_column++) {
        const int32_t column = left + k_column * DILATION_WIDTH;
        if (column < 0 || column >= IN_WIDTH) {
          x = fill(x, PIXEL);
        } else {
          x = copy(x, from + k_column * DILATION_WIDTH * PIXEL, PIXEL);
        }
      }
    }
  }
}

enum { STREAM = 54 }; /* packed words of CHANNELS channels */

void layer_3(const int8_t *restrict input, int8_t *restrict output, void *restrict scratch) {
  const int32_t *packed = layer_3_weights;
  const int32_t channel = 0;
  packed = layer_3_unpack(packed, scratch);
  int8_t *y = output + channel;
  for (int32_t row = 0; row < OUT_HEIGHT; row++) {
    for (int32_t column = 0; column < OUT_WIDTH; column++) {
      void *window = (uint32_t *)scratch + STREAM;
      layer_3_gather((const void *)input, row * STRIDE_HEIGHT - PAD_TOP, column * STRIDE_WIDTH - PAD_LEFT, window);
      layer_3_pixels(window, y, 1, scratch);
      y += OUT_CHANNELS;
    }
  }
}
