#include "text_out.h"

#include <stddef.h>

#include "host_bytes.h"

enum { QUEUE_ITEMS = 24, BASE = 10 };

typedef enum { TEXT, NUMBER, PARTS } kind_t;

typedef struct {
  union {
    const char *text;
    uint32_t number;
    text_parts_t parts;
  } what;
  uint8_t kind;
} item_t;

static item_t queue[QUEUE_ITEMS];
static uint8_t first;
static uint8_t count;

/* What is left of the present part of the first item, and the number of the next part. */
static const char *rest = "";
static uint32_t part;

static char digits[TEXT_NUMBER_CHARS];

static item_t *add(kind_t kind) {
  static item_t lost;
  if (count == QUEUE_ITEMS) return &lost;
  item_t *item = &queue[(first + count++) % QUEUE_ITEMS];
  item->kind = (uint8_t)kind;
  return item;
}

void text_out(const char *text) { add(TEXT)->what.text = text; }

void text_out_number(uint32_t number) { add(NUMBER)->what.number = number; }

void text_out_parts(text_parts_t parts) { add(PARTS)->what.parts = parts; }

const char *text_of_number(char *to, uint64_t number, uint32_t places) {
  char *at = to + TEXT_NUMBER_CHARS - 1;
  *at = 0;
  for (uint32_t i = 0; number || i <= places; i++) {
    if (places && i == places) *--at = '.';
    *--at = (char)('0' + number % BASE);
    number /= BASE;
  }
  return at;
}

static const char *part_of(const item_t *item, uint32_t index) {
  if (item->kind == PARTS) return item->what.parts(index);
  if (index) return NULL;
  return item->kind == TEXT ? item->what.text : text_of_number(digits, item->what.number, 0);
}

bool host_bytes_next(uint8_t *byte) {
  while (!*rest && count) {
    const char *next = part_of(&queue[first], part++);
    rest = next ? next : "";
    if (next) continue;
    part = 0;
    first = (uint8_t)((first + 1) % QUEUE_ITEMS);
    count--;
  }
  if (!*rest) return false;
  *byte = (uint8_t)*rest++;
  return true;
}
