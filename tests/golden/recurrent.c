/* layer 3, recurrent example
 *
 * 1x3x2 Q2.5 -> 1x3x2 Q2.5, 150 MACs
 * scheme: 1x1-non-interleaved, kernel: direct, 20 bytes of scratch
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 1,
  IN_WIDTH = 3,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 1,
  OUT_WIDTH = 3,
  OUT_CHANNELS = 2,
  LOW = -128,
  HIGH = 127,
};

static const int16_t layer_3_weights[32] TINYSPLIT_WEIGHTS(layer_3_weights) = {
  -16384, -12639, -17788, -20597, -15448, -11703, -15916, -16852,
    4096,   3160,   4447,   5149,   3862,   2926,   3979,   4213,
  -14512, -21533, -14043, -13107, -13575, -19661, -12171,  -9362,
    3628,   5383,   3511,   3277,   3394,   4915,   3043,   2341,
};

static const int32_t layer_3_bias[8] TINYSPLIT_WEIGHTS(layer_3_bias) = {
  -207062400, -176384060, -291411448, -460109544,
  -191723228, -322089784, -260733112, -398752872,
};

static const int8_t layer_3_shifts[8] TINYSPLIT_WEIGHTS(layer_3_shifts) = {
  15, 15, 16, 17,
  15, 16, 16, 17,
};

static const int16_t layer_3_tanh[385] TINYSPLIT_WEIGHTS(layer_3_tanh) = {
      0,   512,  1024,  1535,  2045,  2555,  3063,  3570,  4075,  4578,  5079,  5577,  6073,  6566,  7056,  7542,
   8025,  8505,  8980,  9452,  9919, 10382, 10840, 11294, 11743, 12186, 12625, 13058, 13486, 13909, 14326, 14737,
  15143, 15542, 15936, 16324, 16706, 17082, 17452, 17816, 18173, 18525, 18870, 19209, 19542, 19869, 20189, 20504,
  20813, 21115, 21411, 21702, 21986, 22265, 22538, 22804, 23066, 23321, 23571, 23815, 24054, 24287, 24516, 24738,
  24956, 25168, 25376, 25578, 25776, 25969, 26157, 26340, 26519, 26694, 26864, 27029, 27191, 27348, 27502, 27651,
  27797, 27938, 28076, 28211, 28341, 28469, 28592, 28713, 28830, 28944, 29055, 29163, 29268, 29370, 29470, 29566,
  29660, 29751, 29840, 29926, 30010, 30091, 30170, 30247, 30322, 30394, 30465, 30533, 30600, 30664, 30727, 30788,
  30847, 30904, 30960, 31014, 31067, 31118, 31167, 31215, 31262, 31307, 31351, 31394, 31435, 31476, 31515, 31553,
  31589, 31625, 31659, 31693, 31726, 31757, 31788, 31817, 31846, 31874, 31901, 31928, 31953, 31978, 32002, 32025,
  32048, 32070, 32091, 32112, 32132, 32151, 32170, 32188, 32206, 32223, 32240, 32256, 32271, 32287, 32301, 32316,
  32329, 32343, 32356, 32368, 32381, 32392, 32404, 32415, 32426, 32436, 32447, 32456, 32466, 32475, 32484, 32493,
  32501, 32509, 32517, 32525, 32532, 32540, 32547, 32553, 32560, 32566, 32573, 32579, 32584, 32590, 32596, 32601,
  32606, 32611, 32616, 32620, 32625, 32629, 32634, 32638, 32642, 32646, 32649, 32653, 32657, 32660, 32663, 32667,
  32670, 32673, 32676, 32678, 32681, 32684, 32686, 32689, 32691, 32694, 32696, 32698, 32700, 32702, 32704, 32706,
  32708, 32710, 32712, 32714, 32715, 32717, 32718, 32720, 32721, 32723, 32724, 32726, 32727, 32728, 32729, 32731,
  32732, 32733, 32734, 32735, 32736, 32737, 32738, 32739, 32740, 32741, 32741, 32742, 32743, 32744, 32745, 32745,
  32746, 32747, 32747, 32748, 32749, 32749, 32750, 32750, 32751, 32751, 32752, 32752, 32753, 32753, 32754, 32754,
  32755, 32755, 32755, 32756, 32756, 32757, 32757, 32757, 32758, 32758, 32758, 32759, 32759, 32759, 32759, 32760,
  32760, 32760, 32760, 32761, 32761, 32761, 32761, 32762, 32762, 32762, 32762, 32762, 32762, 32763, 32763, 32763,
  32763, 32763, 32763, 32764, 32764, 32764, 32764, 32764, 32764, 32764, 32764, 32765, 32765, 32765, 32765, 32765,
  32765, 32765, 32765, 32765, 32765, 32765, 32766, 32766, 32766, 32766, 32766, 32766, 32766, 32766, 32766, 32766,
  32766, 32766, 32766, 32766, 32766, 32766, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
  32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
  32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
  32767,
};

static const int16_t layer_3_first_h[2] TINYSPLIT_WEIGHTS(layer_3_first_h) = {
  16384, -8192,
};

enum {
  STEPS = 3,
  INPUTS = IN_CHANNELS,
  UNITS = 2,
  GATES = 4,
  X_SHIFT = 8, /* of inputs to 16 bits */
  LARGEST_GATE = 49151, /* 12 in Q12 */
  ONE_BITS = 15,
  CELL_BITS = 20, /* fraction bits of the cell state */
};

/* tanh from its table, of a position in steps of 2^bits between entries; the sign of `gate` is that of the result. */
TINYSPLIT_INLINE int32_t interpolated(int32_t gate, int32_t position, int32_t bits) {
  const int16_t *entry = layer_3_tanh + (position >> bits);
  const int32_t between = position & ((1 << bits) - 1);
  const int32_t value = entry[0] + fixed_point_shift((entry[1] - entry[0]) * between, bits);
  return gate < 0 ? -value : value;
}

/* Functions of Q12 in Q15. */
static int32_t tanh_of(int32_t gate) {
  const int32_t position = gate < 0 ? -gate : gate;
  return interpolated(gate, position < LARGEST_GATE / 2 ? position : LARGEST_GATE / 2, 6);
}

static int32_t sigmoid_of(int32_t gate) {
  const int32_t limited = fixed_point_clamp(gate, -LARGEST_GATE, LARGEST_GATE);
  return (interpolated(limited, limited < 0 ? -limited : limited, 7) + (1 << ONE_BITS) + 1) >> 1;
}

static int32_t requantized(int32_t state) {
  return fixed_point_requantize(state, 0, 1, 512, 10, LOW, HIGH);
}

void layer_3(const int8_t *restrict input, int8_t *restrict output, void *restrict scratch) {
  int16_t *const x = scratch, *const h = x + INPUTS, *const next = h + UNITS;
  int32_t *const c = (int32_t *)scratch + 3;
  for (int32_t unit = 0; unit < UNITS; unit++) {
    h[unit] = layer_3_first_h[unit];
    c[unit] = 0;
  }
  for (int32_t step = STEPS - 1; step >= 0; step--) {
    for (int32_t i = 0; i < INPUTS; i++) {
      x[i] = (int16_t)(input[step * INPUTS + i] * (1 << X_SHIFT));
    }
    const int16_t *w = layer_3_weights;
    for (int32_t unit = 0; unit < UNITS; unit++) {
      const int32_t *const bias = layer_3_bias + unit * GATES;
      const int8_t *const shifts = layer_3_shifts + unit * GATES;
      int32_t sum_i = bias[0];
      int32_t sum_o = bias[1];
      int32_t sum_f = bias[2];
      int32_t sum_g = bias[3];
#pragma GCC unroll 2
      for (int32_t i = 0; i < INPUTS; i++) {
        const int32_t value = x[i];
        sum_i += value * w[0];
        sum_o += value * w[1];
        sum_f += value * w[2];
        sum_g += value * w[3];
        w += GATES;
      }
#pragma GCC unroll 2
      for (int32_t i = 0; i < UNITS; i++) {
        const int32_t value = h[i];
        sum_i += value * w[0];
        sum_o += value * w[1];
        sum_f += value * w[2];
        sum_g += value * w[3];
        w += GATES;
      }
      const int32_t i_gate = sigmoid_of(sum_i >> shifts[0]), o_gate = sigmoid_of(sum_o >> shifts[1]);
      const int32_t f_gate = sigmoid_of(sum_f >> shifts[2]), g = tanh_of(sum_g >> shifts[3]);
      /* A product of 24 and 16 bits in 32: the cell state in two parts. */
      const int32_t kept = (c[unit] >> 8) * f_gate + (((c[unit] & 255) * f_gate) >> 8);
      c[unit] = fixed_point_shift(kept, ONE_BITS - 8) + fixed_point_shift(i_gate * g, 2 * ONE_BITS - CELL_BITS);
      const int32_t state = fixed_point_shift(c[unit], 8);
      next[unit] = (int16_t)fixed_point_shift(o_gate * tanh_of(state), ONE_BITS);
    }
    for (int32_t unit = 0; unit < UNITS; unit++) {
      h[unit] = next[unit];
    }
    for (int32_t unit = 0; unit < UNITS; unit++) {
      output[step * UNITS + unit] = (int8_t)requantized(h[unit]);
    }
  }
}
