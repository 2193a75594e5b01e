/* layer 3, depthwise conv example
 *
 * 4x4x2 Q2.5 -> 2x2x2 Q2.5, 80 MACs
 * window 3x3, stride 2x2, dilation 1x1, padding 0/0/1/1
 * 8-bit weights, scales 0.00781 to 0.0083 per channel; requantization: factor 16 to 17, shift 11
 * ReLU fused: outputs from 0 to 127
 * scheme: interleaved, kernel: sliding, 32 bytes of scratch
 */
#include "window.h"
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 2,
  OUT_WIDTH = 2,
  OUT_CHANNELS = 2,
  KERNEL_HEIGHT = 3,
  KERNEL_WIDTH = 3,
  STRIDE_HEIGHT = 2,
  STRIDE_WIDTH = 2,
  DILATION_HEIGHT = 1,
  DILATION_WIDTH = 1,
  PAD_TOP = 0,
  PAD_LEFT = 0,
  LOW = 0,
  HIGH = 127,
};

static const int32_t layer_3_weights[22] TINYSPLIT_WEIGHTS(layer_3_weights) = {
     -107,     -65,     -24,    -120,     -79,     -38,     -93,     -52,
      -10,      17, 1280512,
     -106,     -62,     -18,    -121,     -77,     -33,     -91,     -48,
       -4,      16, 1147904,
};

enum {
  ROWS = 3, /* of inputs in the line buffer; two rows share the padding between them */
  KEPT_ROWS = 1, /* of them that the next row of outputs needs, too */
  COLUMNS = 4, /* of inputs, without padding */
  PITCH = 5, /* columns from one row to the next */
};

/* One row of outputs from three rows of inputs, channel by channel.
 *
 * Every input of a row is loaded once, for the sums of all outputs whose windows it lies in. `weights` has, channel by
 * channel, the columns 1, 0 and 2 of the kernel, then the factor, the offset with bias * factor.
 */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_7M__)
__attribute__((naked, noipa)) static void layer_3_row(
    __attribute__((unused)) const uint8_t *x, __attribute__((unused)) int8_t *y,
    __attribute__((unused)) const int32_t *weights) {
  __asm(".syntax unified\n"
        ".macro load_column\n"
        "  ldrb r2, [r1]\n"
        "  add r1, r11\n"
        "  ldrb r3, [r1]\n"
        "  add r1, r11\n"
        "  ldrb r4, [r1]\n"
        "  add r1, lr\n"
        ".endm\n"
        ".macro sum_column\n"
        "  ldmia r0!, {r5-r7}\n"
        "  muls r5, r2\n"
        "  muls r6, r3\n"
        "  muls r7, r4\n"
        "  adds r5, r6\n"
        "  adds r5, r7\n"
        ".endm\n"
        ".macro store\n"
        "  ldmia r0!, {r4, r7}\n"
        "  muls r5, r4\n"
        "  adds r5, r7\n"
        "  asrs r5, #11\n"
        "  cmp r5, #127\n"
        "  bls 9f\n"
        "  asrs r5, #31\n"
        "  movs r6, #127\n"
        "  bics r6, r5\n"
        "  movs r5, r6\n"
        "9:\n"
        "  mov r6, r12\n"
        "  strb r5, [r6]\n"
        "  adds r6, #2\n"
        "  mov r12, r6\n"
        ".endm\n"
        "  push {r4-r7, lr}\n"
        "  mov r4, r8\n"
        "  mov r5, r9\n"
        "  mov r6, r10\n"
        "  mov r7, r11\n"
        "  push {r4-r7}\n"
        "  ldr r4, =2\n"
        "  adds r4, r1\n"
        "  sub sp, #4\n"
        "  push {r0, r1, r4}\n"
        "  mov r0, r2\n"
        "  ldr r2, =10\n"
        "  mov r11, r2\n"
        "  ldr r2, =-18\n"
        "  mov lr, r2\n"
        "1: @ a channel\n"
        "  ldr r1, [sp, #4]\n"
        "  mov r12, r1\n"
        "  adds r2, r1, #1\n"
        "  str r2, [sp, #4]\n"
        "  ldr r2, =2\n"
        "  adds r2, r1\n"
        "  str r2, [sp, #12]\n"
        "  ldr r1, [sp]\n"
        "  adds r2, r1, #1\n"
        "  str r2, [sp]\n"
        "  adds r0, #12\n"
        "  load_column\n"
        "  sum_column\n"
        "  mov r9, r5\n"
        "  subs r0, #24\n"
        "2: @ an output\n"
        "    load_column\n"
        "  sum_column\n"
        "  add r9, r5\n"
        "  mov r8, r9\n"
        "  load_column\n"
        "  sum_column\n"
        "  mov r9, r5\n"
        "  sum_column\n"
        "  add r5, r8\n"
        "  store\n"
        "  subs r0, #44\n"
        "  ldr r7, [sp, #12]\n"
        "  cmp r6, r7\n"
        "  bne 2b\n"
        "    load_column\n"
        "  sum_column\n"
        "  add r9, r5\n"
        "  mov r8, r9\n"
        "  load_column\n"
        "  adds r0, #12\n"
        "  sum_column\n"
        "  add r5, r8\n"
        "  store\n"
        "  ldr r6, [sp, #4]\n"
        "  ldr r7, [sp, #8]\n"
        "  cmp r6, r7\n"
        "  beq 4f\n"
        "  b 1b\n"
        "4:\n"
        "  add sp, #16\n"
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
static void layer_3_row(const uint8_t *x, int8_t *y, const int32_t *weights) {
  static const int32_t kernel_columns[] = {1, 0, 2};
  for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
    for (int32_t column = 0; column < OUT_WIDTH; column++) {
      uint32_t sum = 0;
      for (int32_t i = 0; i < 9; i++) {
        const int32_t position = (i % ROWS * PITCH + column * STRIDE_WIDTH + kernel_columns[i / ROWS]) * IN_CHANNELS;
        sum += (uint32_t)(weights[i] * x[position + channel]);
      }
      const uint32_t factor = (uint32_t)weights[9];
      const uint32_t scaled = (uint32_t)((int32_t)sum >> 0) * factor + (uint32_t)weights[10];
      y[column * OUT_CHANNELS + channel] = (int8_t)fixed_point_clamp(((int32_t)scaled >> 11), LOW, HIGH);
    }
    weights += 11;
  }
}
#endif

typedef uint8_t layer_3_unit;

enum { PIXEL = IN_CHANNELS / (int32_t)sizeof(layer_3_unit) };

/* Copies units, from the first to the last. */
TINYSPLIT_INLINE layer_3_unit *move(layer_3_unit *x, const layer_3_unit *from, int32_t units) {
#pragma GCC unroll 4
  for (int32_t i = 0; i < units; i++) {
    *x++ = *from++;
  }
  return x;
}

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

void layer_3(const int8_t *input, int8_t *output, void *restrict scratch) {
  layer_3_unit *const rows = scratch;
  fill(rows, 15 * PIXEL);
  for (int32_t out_row = 0; out_row < OUT_HEIGHT; out_row++) {
    if (out_row > 0) {
      move(rows, rows + (ROWS - KEPT_ROWS) * PITCH * PIXEL, (PAD_LEFT + (KEPT_ROWS - 1) * PITCH + COLUMNS) * PIXEL);
    }
    for (int32_t i = out_row > 0 ? KEPT_ROWS : 0; i < ROWS; i++) {
      const int32_t row = out_row * STRIDE_HEIGHT - PAD_TOP + i;
      layer_3_unit *x = rows + (i * PITCH + PAD_LEFT) * PIXEL;
      if (row < 0 || row >= IN_HEIGHT) {
        fill(x, COLUMNS * PIXEL);
        continue;
      }
      copy(x, (const layer_3_unit *)(const void *)input + row * IN_WIDTH * PIXEL, COLUMNS * PIXEL);
    }
    layer_3_row(scratch, output, layer_3_weights);
    output += OUT_WIDTH * OUT_CHANNELS;
  }
}
