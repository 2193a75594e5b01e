#include "ed25519.h"

#include <string.h>

enum {
  SCALAR_WORDS = 8,
  SCALAR_BITS = 253,  /* of the order of the base point */
  DIGEST_BITS = 512,
  POINT_BYTES = 32,   /* encoded; the first half of a signature */
  FOLD = 38,          /* 2^256 modulo 2^255 - 19 */
  TOP_FOLD = 19,      /* 2^255 */
  TOP_BIT = 0x8000    /* of the last limb: 2^255 */
};

/* The points of a verification: the sum, and what is added to it for a bit of S, of k, and of both. */
enum { SUM, BASE, NEGATED_KEY, BOTH };

typedef ed25519_field_t field_t;
typedef ed25519_point_t point_t;

static const field_t one = {{1}};

/* RFC 8032 section 5.1: -121665/121666; 2^((p - 1) / 4), a square root of -1; and the base point. */
static const field_t curve_d = {{0x78a3, 0x1359, 0x4dca, 0x75eb, 0xd8ab, 0x4141, 0x0a4d, 0x0070, 0xe898, 0x7779, 0x4079,
                                 0x8cc7, 0xfe73, 0x2b6f, 0x6cee, 0x5203}};
static const field_t root = {{0xa0b0, 0x4a0e, 0x1b27, 0xc4ee, 0xe478, 0xad2f, 0x1806, 0x2f43, 0xd7a7, 0x3dfb, 0x0099,
                              0x2b4d, 0xdf0b, 0x4fc1, 0x2480, 0x2b83}};
static const field_t base_x = {{0xd51a, 0x8f25, 0x2d60, 0xc956, 0xa7b2, 0x9525, 0xc760, 0x692c, 0xdc5c, 0xfdd6, 0xe231,
                                0xc0a4, 0x53fe, 0xcd6e, 0x36d3, 0x2169}};
static const field_t base_y = {{0x6658, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666,
                                0x6666, 0x6666, 0x6666, 0x6666, 0x6666}};
/* The order of the base point, in words. */
static const uint32_t order[SCALAR_WORDS] = {0x5cf5d3ed, 0x5812631a, 0xa2f79cd6, 0x14def9de, 0, 0, 0, 0x10000000};

/* Integers modulo 2^255 - 19. Results may be operands. */

/* Adds carry * 2^256. */
static void fold(field_t *x, int32_t carry) {
  while (carry) {
    carry *= FOLD;
    for (uint32_t i = 0; carry && i < ED25519_LIMBS; i++) {
      carry += x->limbs[i];
      x->limbs[i] = (uint16_t)carry;
      carry >>= 16;
    }
  }
}

static void add(field_t *out, const field_t *a, const field_t *b) {
  int32_t carry = 0;
  for (uint32_t i = 0; i < ED25519_LIMBS; i++) {
    carry += a->limbs[i] + b->limbs[i];
    out->limbs[i] = (uint16_t)carry;
    carry >>= 16;
  }
  fold(out, carry);
}

static void subtract(field_t *out, const field_t *a, const field_t *b) {
  int32_t carry = 0;
  for (uint32_t i = 0; i < ED25519_LIMBS; i++) {
    carry += a->limbs[i] - b->limbs[i];
    out->limbs[i] = (uint16_t)carry;
    carry >>= 16;
  }
  fold(out, carry);
}

/* Loops that lie in one line of a code cache: on Cortex-M4 a branch into another line may wait. */
#ifdef __ARM_ARCH_7EM__
__attribute__((optimize("align-loops=16:5")))
#endif
static void multiply(field_t *out, const field_t *a, const field_t *b) {
  uint16_t product[2 * ED25519_LIMBS];
  uint64_t column = 0;
  for (uint32_t i = 0; i < 2 * ED25519_LIMBS - 1; i++) {
    uint32_t first = i < ED25519_LIMBS ? 0 : i - (ED25519_LIMBS - 1);
    const uint16_t *x = a->limbs + first, *y = b->limbs + (i - first), *last = a->limbs + (i - first);
    do {
      uint32_t term = (uint32_t)*x * *y--; /* 32 bits hold it: one instruction on all cores */
      column += term;
    } while (x++ != last);
    product[i] = (uint16_t)column;
    column >>= 16;
  }
  product[2 * ED25519_LIMBS - 1] = (uint16_t)column;
  uint32_t carry = 0;
  for (uint32_t i = 0; i < ED25519_LIMBS; i++) {
    carry += product[i] + (uint32_t)FOLD * product[i + ED25519_LIMBS];
    out->limbs[i] = (uint16_t)carry;
    carry >>= 16;
  }
  fold(out, (int32_t)carry);
}

/* x^(2^250 - 1): x^(2^2n - 1) from x^(2^n - 1), and x^(2^(n + 1) - 1) from that, by the bits of 250 below its first. */
static void power_2_250_less_1(field_t *out, const field_t *x) {
  field_t y = *x, before;
  uint32_t bits = 1;
  for (uint32_t mask = 0x40; mask; mask >>= 1) {
    before = y;
    for (uint32_t i = 0; i < bits; i++) multiply(&y, &y, &y);
    multiply(&y, &y, &before);
    bits *= 2u;
    if (250u & mask) {
      multiply(&y, &y, &y);
      multiply(&y, &y, x);
      bits++;
    }
  }
  *out = y;
}

/* x^(2^255 - 21), the inverse: 2^255 - 21 = 2^5 (2^250 - 1) + 11. */
static void invert(field_t *out, const field_t *x) {
  field_t y;
  power_2_250_less_1(&y, x);
  multiply(&y, &y, &y);
  multiply(&y, &y, &y);
  multiply(&y, &y, x); /* 2^2 (2^250 - 1) + 1 */
  multiply(&y, &y, &y);
  multiply(&y, &y, &y);
  multiply(&y, &y, x); /* 2^4 (2^250 - 1) + 5 */
  multiply(&y, &y, &y);
  multiply(out, &y, x);
}

/* Brings x below 2^255 - 19. */
static void make_canonical(field_t *x) {
  uint32_t last = ED25519_LIMBS - 1;
  field_t top = {{(uint16_t)(x->limbs[last] & TOP_BIT ? TOP_FOLD : 0)}}, less = {{TOP_FOLD}};
  x->limbs[last] &= TOP_BIT - 1;
  add(x, x, &top);
  add(&less, &less, x); /* 2^255 more than x less the modulus */
  if (less.limbs[last] & TOP_BIT) *x = less;
  x->limbs[last] &= TOP_BIT - 1;
}

static bool is_zero(const field_t *x) {
  static const field_t zero;
  return memcmp(x, &zero, sizeof zero) == 0;
}

static bool is_equal(const field_t *a, const field_t *b) {
  field_t difference;
  subtract(&difference, a, b);
  make_canonical(&difference);
  return is_zero(&difference);
}

/* Points */

/* RFC 8032 section 5.1.4, which holds for all points: also for twice one. */
static void add_points(point_t *out, const point_t *p, const point_t *q) {
  field_t a, b, c, d, e;
  subtract(&a, &p->y, &p->x);
  subtract(&e, &q->y, &q->x);
  multiply(&a, &a, &e);
  add(&b, &p->y, &p->x);
  add(&e, &q->y, &q->x);
  multiply(&b, &b, &e);
  multiply(&c, &p->t, &q->t);
  multiply(&c, &c, &curve_d);
  add(&c, &c, &c);
  multiply(&d, &p->z, &q->z);
  add(&d, &d, &d);
  subtract(&e, &b, &a);
  add(&a, &b, &a); /* H */
  subtract(&b, &d, &c); /* F */
  add(&d, &d, &c); /* G */
  multiply(&out->x, &e, &b);
  multiply(&out->y, &d, &a);
  multiply(&out->t, &e, &a);
  multiply(&out->z, &b, &d);
}

/* RFC 8032 section 5.1.3, steps 2 and 3: a square root of u/v, false if there is none. */
static bool find_root(field_t *x, const field_t *u, const field_t *v) {
  field_t v3, uv7, square;
  multiply(&v3, v, v);
  multiply(&v3, &v3, v);
  multiply(&uv7, &v3, &v3);
  multiply(&uv7, &uv7, v);
  multiply(&uv7, &uv7, u);
  power_2_250_less_1(x, &uv7);
  multiply(x, x, x);
  multiply(x, x, x);
  multiply(x, x, &uv7); /* (uv^7)^((p - 5) / 8) */
  multiply(x, x, &v3);
  multiply(x, x, u);
  multiply(&square, x, x);
  multiply(&square, &square, v);
  if (is_equal(&square, u)) return true;
  multiply(x, x, &root);
  add(&square, &square, u);
  make_canonical(&square);
  return is_zero(&square);
}

/* The negative of an encoded point. */
static bool decode_negated(point_t *point, const uint8_t bytes[POINT_BYTES]) {
  field_t u, v, *x = &point->x, *y = &point->y;
  memcpy(y, bytes, sizeof *y);
  bool is_odd = y->limbs[ED25519_LIMBS - 1] & TOP_BIT;
  y->limbs[ED25519_LIMBS - 1] &= TOP_BIT - 1;
  u = *y;
  make_canonical(&u);
  if (memcmp(&u, y, sizeof u) != 0) return false;
  multiply(&u, y, y);
  multiply(&v, &u, &curve_d);
  subtract(&u, &u, &one);
  add(&v, &v, &one);
  if (!find_root(x, &u, &v)) return false;
  make_canonical(x);
  if (is_odd && is_zero(x)) return false;
  if ((x->limbs[0] & 1u) == is_odd) {
    memset(&u, 0, sizeof u);
    subtract(x, &u, x);
  }
  point->z = one;
  multiply(&point->t, x, y);
  return true;
}

static void encode(uint8_t bytes[POINT_BYTES], const point_t *point) {
  field_t x, y;
  invert(&y, &point->z);
  multiply(&x, &point->x, &y);
  multiply(&y, &point->y, &y);
  make_canonical(&x);
  make_canonical(&y);
  if (x.limbs[0] & 1u) y.limbs[ED25519_LIMBS - 1] |= TOP_BIT;
  memcpy(bytes, &y, POINT_BYTES);
}

/* Scalars: integers modulo the order of the base point. */

static bool is_below_order(const uint32_t scalar[SCALAR_WORDS]) {
  for (uint32_t i = SCALAR_WORDS; i--;) {
    if (scalar[i] != order[i]) return scalar[i] < order[i];
  }
  return false;
}

static uint32_t bit_of(const uint32_t *words, uint32_t bit) { return (words[bit / 32u] >> bit % 32u) & 1u; }

static void reduce(uint32_t scalar[SCALAR_WORDS], const uint32_t digest[DIGEST_BITS / 32]) {
  memset(scalar, 0, SCALAR_WORDS * sizeof *scalar);
  for (uint32_t bit = DIGEST_BITS; bit--;) {
    for (uint32_t i = SCALAR_WORDS - 1; i; i--) scalar[i] = scalar[i] << 1 | scalar[i - 1u] >> 31;
    scalar[0] = scalar[0] << 1 | bit_of(digest, bit);
    if (is_below_order(scalar)) continue;
    uint32_t borrow = 0;
    for (uint32_t i = 0; i < SCALAR_WORDS; i++) {
      uint32_t word = scalar[i], less = word - order[i];
      scalar[i] = less - borrow;
      borrow = (word < order[i]) | (less < borrow);
    }
  }
}

/* [s]B - [k]A into points[SUM]. */
static bool add_products(point_t points[4], const uint32_t s[SCALAR_WORDS], const uint32_t k[SCALAR_WORDS],
                         const uint8_t *key) {
  if (!decode_negated(&points[NEGATED_KEY], key)) return false;
  points[BASE] = (point_t){.x = base_x, .y = base_y, .z = one};
  multiply(&points[BASE].t, &base_x, &base_y);
  add_points(&points[BOTH], &points[BASE], &points[NEGATED_KEY]);
  points[SUM] = (point_t){.y = one, .z = one};
  for (uint32_t bit = SCALAR_BITS; bit--;) {
    add_points(&points[SUM], &points[SUM], &points[SUM]);
    uint32_t added = bit_of(s, bit) * BASE + bit_of(k, bit) * NEGATED_KEY;
    if (added) add_points(&points[SUM], &points[SUM], &points[added]);
  }
  return true;
}

void ed25519_begin(ed25519_t *check, const uint8_t *signature, const uint8_t *key) {
  check->signature = signature;
  check->key = key;
  sha512_begin(&check->work.hash);
  ed25519_add(check, signature, POINT_BYTES);
  ed25519_add(check, key, ED25519_KEY_BYTES);
}

void ed25519_add(ed25519_t *check, const uint8_t *data, uint32_t bytes) {
  sha512_add(&check->work.hash, data, bytes);
}

bool ed25519_end(ed25519_t *check) {
  uint32_t digest[DIGEST_BITS / 32], s[SCALAR_WORDS], k[SCALAR_WORDS];
  sha512_end(&check->work.hash, (uint8_t *)digest);
  memcpy(s, check->signature + POINT_BYTES, sizeof s);
  if (!is_below_order(s)) return false;
  reduce(k, digest);
  point_t *points = check->work.points;
  if (!add_products(points, s, k, check->key)) return false;
  uint8_t sum[POINT_BYTES];
  encode(sum, &points[SUM]);
  return memcmp(sum, check->signature, sizeof sum) == 0;
}
