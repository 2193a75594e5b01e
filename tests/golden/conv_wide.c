/* layer 3, conv example
 *
 * 4x4x2 Q2.13 -> 4x4x4 Q2.13, 1216 MACs
 * window 3x3, stride 1x1, dilation 1x1, padding 1/1/1/1
 * 16-bit weights, scales 0.000145 to 0.000153 per channel; requantization: shift 5, factor 19 to 20, shift 12
 * ReLU fused: outputs from 0 to 32767
 * scheme: interleaved, kernel: wide, 36 bytes of scratch
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
  HIGH = 32767,
};

static const int32_t layer_3_weights[44] TINYSPLIT_WEIGHTS(layer_3_weights) = {
   28256380, -14128166,        16,  53687107,  12969229,  12313869,  38790808,  36890264,
   64677922,  61401122,  90499500,  85977516, 116321078, 110488374, 142142656, 135064768,
  167964235, 159575627, 193851349, 184152021, 219672927, 208662879, 245494505, 233239273,
  271316083, 257750131, 297137662, 282326526, 323024776, 306837384, 348846354, 331413778,
  374667932, 355924636, 400489510, 380501030, 426311089, 405011889, 452198203, 429588283,
         19,        19,        19,        20,
};

enum { INPUTS = 18 }; /* of an output */

/* Computes all output channels of `pixels` pixels, whose windows follow each other in `x`.
 *
 * `weights` has blocks of four channels: biases, for each input two words with two weights each, and factors.
 */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_7M__)
__attribute__((naked, noipa)) static void layer_3_pixels(
    __attribute__((unused)) const int16_t *x, __attribute__((unused)) int16_t *y,
    __attribute__((unused)) int32_t pixels, __attribute__((unused)) const int32_t *weights) {
  __asm(".syntax unified\n"
        ".macro multiply_one @ one input (r7) by four channels\n"
        "  ldmia r0!, {r2, r3}\n"
        "  sxth r4, r2\n"
        "  muls r4, r7\n"
        "  add r8, r4\n"
        "  asrs r2, #16\n"
        "  muls r2, r7\n"
        "  add r9, r2\n"
        "  sxth r4, r3\n"
        "  muls r4, r7\n"
        "  add r10, r4\n"
        "  asrs r3, #16\n"
        "  muls r3, r7\n"
        "  add r11, r3\n"
        ".endm\n"
        ".macro multiply offset @ two inputs\n"
        "  ldr r6, [r1, #\\offset]\n"
        "  sxth r7, r6\n"
        "  multiply_one\n"
        "  asrs r7, r6, #16\n"
        "  multiply_one\n"
        ".endm\n"
        ".macro requantize sum, factor @ r1 holds the offset\n"
        "  asrs \\sum, #5\n"
        "  muls \\sum, \\factor\n"
        "  adds \\sum, r1\n"
        "  asrs \\sum, #12\n"
        "  ldr \\factor, =0\n"
        "  cmp \\sum, \\factor\n"
        "  bge 9f\n"
        "  mov \\sum, \\factor\n"
        "9:\n"
        "  ldr \\factor, =32767\n"
        "  cmp \\sum, \\factor\n"
        "  ble 9f\n"
        "  mov \\sum, \\factor\n"
        "9:\n"
        ".endm\n"
        "  push {r4-r7, lr}\n"
        "  mov r4, r8\n"
        "  mov r5, r9\n"
        "  mov r6, r10\n"
        "  mov r7, r11\n"
        "  push {r4-r7}\n"
        "  ldr r4, =176 @ bytes: a word of four channels takes one of each\n"
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
        "  multiply 0\n"
        "  multiply 4\n"
        "  multiply 8\n"
        "  multiply 12\n"
        "  multiply 16\n"
        "  multiply 20\n"
        "  multiply 24\n"
        "  multiply 28\n"
        "  multiply 32\n"
        "  b 4f\n"
        ".ltorg @ the end of the function is out of reach\n"
        "4:\n"
        "  mov r2, r8\n"
        "  mov r3, r9\n"
        "  mov r4, r10\n"
        "  mov r5, r11\n"
        "  ldr r1, =2048\n"
        "  ldmia r0!, {r6, r7}\n"
        "  requantize r2, r6\n"
        "  requantize r3, r7\n"
        "  ldmia r0!, {r6, r7}\n"
        "  requantize r4, r6\n"
        "  requantize r5, r7\n"
        "  ldr r7, [sp, #4]\n"
        "  strh r2, [r7, #0]\n"
        "  strh r3, [r7, #2]\n"
        "  strh r4, [r7, #4]\n"
        "  strh r5, [r7, #6]\n"
        "  adds r7, #8\n"
        "  str r7, [sp, #4]\n"
        "  ldr r6, [sp, #16]\n"
        "  cmp r0, r6\n"
        "  beq 5f\n"
        "  b 2b\n"
        "5:\n"
        "  ldr r1, [sp]\n"
        "  ldr r2, =36\n"
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
static void layer_3_pixels(const int16_t *x, int16_t *y, int32_t pixels, const int32_t *weights) {
  for (int32_t pixel = 0; pixel < pixels; pixel++) {
    const int32_t *word = weights;
    const int32_t channel = 0;
    uint32_t sums[4];
    for (int32_t i = 0; i < 4; i++) {
      sums[i] = (uint32_t)*word++;
    }
    for (int32_t input = 0; input < INPUTS; input++) {
      for (int32_t i = 0; i < 4; i++) {
        const int16_t weight = (int16_t)((uint32_t)word[i / 2] >> (i % 2 * 16));
        sums[i] += (uint32_t)(weight * x[input]);
      }
      word += 2;
    }
    for (int32_t i = 0; i < 4; i++) {
      const int32_t factor = *word++;
      y[channel + i] = (int16_t)fixed_point_requantize((int32_t)sums[i], 5, factor, 2048, 12, LOW, HIGH);
    }
    x += INPUTS;
    y += OUT_CHANNELS;
  }
}
#endif

typedef uint32_t __attribute__((may_alias)) layer_3_unit; /* two values */

enum { PIXEL = IN_CHANNELS * 2 / (int32_t)sizeof(layer_3_unit) };

typedef struct {
  uint32_t words[12];
} __attribute__((may_alias)) layer_3_run; /* copied by instructions that load and store several registers */

/* Copies units, from the first to the last. */
TINYSPLIT_INLINE layer_3_unit *move(layer_3_unit *x, const layer_3_unit *from, int32_t units) {
  for (; units >= 12; units -= 12) {
    *(layer_3_run *)x = *(const layer_3_run *)from;
    x += 12;
    from += 12;
  }
#pragma GCC unroll 4
  for (int32_t i = 0; i < units; i++) {
    *x++ = *from++;
  }
  return x;
}

/* Copies values. */
TINYSPLIT_INLINE layer_3_unit *copy(layer_3_unit *x, const layer_3_unit *from, int32_t units) {
  return move(x, from, units);
}

TINYSPLIT_INLINE layer_3_unit *fill(layer_3_unit *x, int32_t units) {
#pragma GCC unroll 4
  for (int32_t i = 0; i < units; i++) {
    *x++ = 0x0;
  }
  return x;
}

/* Copies the window whose first position is at (`top`, `left`). */
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

void layer_3(const int16_t *input, int16_t *output, void *restrict scratch) {
  int16_t *y = output;
  for (int32_t row = 0; row < OUT_HEIGHT; row++) {
    for (int32_t column = 0; column < OUT_WIDTH; column++) {
      void *window = scratch;
      layer_3_gather((const void *)input, row * STRIDE_HEIGHT - PAD_TOP, column * STRIDE_WIDTH - PAD_LEFT, window);
      layer_3_pixels(window, y, 1, layer_3_weights);
      y += OUT_CHANNELS;
    }
  }
}
