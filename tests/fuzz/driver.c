#include "driver.h"

#include <ctype.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_CORPUS = 256, LARGEST_LINE = 16384, MOST_MUTATIONS = 8 };

typedef struct {
  size_t size;
  uint8_t bytes[FUZZ_LARGEST];
} input_t;

static input_t corpus[LARGEST_CORPUS];
static size_t corpus_count;
static input_t current;
static unsigned long count, number;
static uint64_t state;

static uint32_t below(size_t limit) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return limit ? (uint32_t)((state * 0x2545F4914F6CDD1Dull >> 32) % limit) : 0;
}

static void report(void) {
  fprintf(stderr, "input %lu:", number);
  for (size_t i = 0; i < current.size; i++) fprintf(stderr, " %02x", current.bytes[i]);
  fprintf(stderr, "\n");
}

/* Of checks of this program, and of UndefinedBehaviorSanitizer with abort_on_error=1. */
static void on_abort(int signal) {
  (void)signal;
  report();
}

/* A line of the corpus: bytes in hexadecimal, "00*300" for 300 of them, and a comment behind "#". */
static void read_line(char *line) {
  input_t *input = &corpus[corpus_count];
  line[strcspn(line, "#\n")] = 0;
  for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
    char *times = strchr(word, '*');
    unsigned long repeats = times ? strtoul(times + 1, NULL, 10) : 1;
    uint8_t byte = (uint8_t)strtoul(word, NULL, 16);
    while (repeats-- && input->size < FUZZ_LARGEST) input->bytes[input->size++] = byte;
  }
  if (input->size) corpus_count++;
}

void fuzz_begin(int argc, char **argv) {
  static char line[LARGEST_LINE];
  FILE *file = argc == 4 ? fopen(argv[3], "r") : NULL;
  if (!file) exit(2);
  while (corpus_count < LARGEST_CORPUS && fgets(line, sizeof line, file)) read_line(line);
  fclose(file);
  if (!corpus_count) exit(2);
  state = strtoull(argv[1], NULL, 10) * 2 + 1;
  count = strtoul(argv[2], NULL, 10);
  __sanitizer_set_death_callback(report);
  signal(SIGABRT, on_abort);
}

static void insert(const uint8_t *bytes, size_t size) {
  if (size > FUZZ_LARGEST - current.size) size = FUZZ_LARGEST - current.size;
  size_t at = below(current.size + 1);
  memmove(current.bytes + at + size, current.bytes + at, current.size - at);
  memcpy(current.bytes + at, bytes, size);
  current.size += size;
}

static void erase(void) {
  size_t at = below(current.size);
  size_t size = 1 + below(below(2) ? 4 : current.size - at);
  if (size > current.size - at) size = current.size - at;
  memmove(current.bytes + at, current.bytes + at + size, current.size - at - size);
  current.size -= size;
}

static void splice(void) {
  const input_t *other = &corpus[below(corpus_count)];
  static uint8_t part[FUZZ_LARGEST];
  size_t from = below(other->size), size = 1 + below(other->size - from);
  memcpy(part, other->bytes + from, size);
  insert(part, size);
}

static void mutate(void) {
  static const uint8_t edges[] = {0x00, 0x01, 0x3F, 0x40, 0x7F, 0x80, 0xFE, 0xFF, 0xA5};
  size_t at = below(current.size);
  uint8_t byte = (uint8_t)below(256);
  switch (current.size ? below(7) : 5) {
    case 0: current.bytes[at] ^= (uint8_t)(1u << below(8)); break;
    case 1: current.bytes[at] = byte; break;
    case 2: current.bytes[at] = edges[below(sizeof edges)]; break;
    case 3: current.bytes[at] = (uint8_t)(current.bytes[at] + below(9) - 4); break;
    case 4: erase(); break;
    case 5: splice(); break;
    default: insert(&byte, 1);
  }
}

const uint8_t *fuzz_next(size_t *size) {
  if (number == count) return NULL;
  current = corpus[number < corpus_count ? number : below(corpus_count)];
  if (number >= corpus_count) {
    for (uint32_t left = 1 + below(MOST_MUTATIONS); left; left--) mutate();
  }
  number++;
  *size = current.size;
  return current.bytes;
}
