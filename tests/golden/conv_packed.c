/* layer 3, conv example
 *
 * 4x4x2 Q2.5 -> 4x4x4 Q2.5, 1216 MACs
 * window 3x3, stride 1x1, dilation 1x1, padding 1/1/1/1
 * 8-bit weights, scale 0.00879; requantization: factor 9, shift 10
 * ReLU fused: outputs from 0 to 127
 * scheme: interleaved, kernel: packed, 20 bytes of scratch
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

static const int32_t layer_3_weights[54] TINYSPLIT_WEIGHTS(layer_3_weights) = {
  -303039303,   -4786787,    -135694,    -131143,    1048475,    1048475,    6619120,    6619120,
       59670,      59670,    4063177,    4063177,    3604418,    3604418,    4456399,    4456399,
     3211196,    3211196,      59670,      59670,    4915158,    4915158,    2752437,    2752437,
     1507234,    1507234,    6160361,    6160361,      59670,      59670,    5308380,    5308380,
     2359215,    2359215,     196494,     196494,    7471101,    7471101,      59670,      59670,
     1900456,    1900456,    5767139,    5767139,    7012342,    7012342,     655253,     655253,
       29835,      29835,          9,          9,          9,          9,
};

enum {
  INPUTS = 18, /* of an output */
  UNROLL = 18,
  GROUPS = 5, /* of inputs whose sums of products fit 16 bits */
  CHANNELS = 4, /* output channels at a time */
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

void layer_3(const int8_t *input, int8_t *output, void *restrict scratch) {
  int8_t *y = output;
  for (int32_t row = 0; row < OUT_HEIGHT; row++) {
    for (int32_t column = 0; column < OUT_WIDTH; column++) {
      void *window = scratch;
      layer_3_gather((const void *)input, row * STRIDE_HEIGHT - PAD_TOP, column * STRIDE_WIDTH - PAD_LEFT, window);
      layer_3_pixels(window, y, 1, layer_3_weights);
      y += OUT_CHANNELS;
    }
  }
}
