/* Two links against each other over a channel that loses and changes bytes; a step is the time of one byte.
 *
 * usage: link_pair SCENARIO SEED BYTES PER_MILLION
 * Prints "repeats", "steps" and the bytes from a to b and back; exits with 1 and a text when a rule of
 * docs/protocol.md is broken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

enum { STEPS_PER_MS = 12, BAUD = 115200, LARGEST = 300000, TENSORS = 3, A_TO_B = 0, B_TO_A = 1 };

static link_t a, b;
static unsigned long steps, sent[2];
static unsigned unexpected_tag = 256, unexpected_count;
static uint32_t state, errors_per_million;
static int lose_direction = -1; /* every byte of this direction is lost */
static uint8_t from[LARGEST], to[LARGEST + 1];

static void check(bool good, const char *text) {
  if (good) return;
  printf("failed after %lu steps: %s\n", steps, text);
  exit(1);
}

static uint32_t random_below(uint32_t limit) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state % limit;
}

static void wake(void *port) { (void)port; }

static void unexpected(uint8_t tag) {
  unexpected_tag = tag;
  unexpected_count++;
}

static void carry(link_t *source, link_t *target, int direction) {
  uint8_t byte;
  if (!frame_next_byte(&source->transmitter, &byte)) return;
  sent[direction]++;
  if (lose_direction == direction) return;
  uint32_t error = random_below(1000000);
  if (error < errors_per_million / 2) return; /* an overrun */
  if (error < errors_per_million) byte ^= (uint8_t)(1u << random_below(8));
  frame_receive(&target->receiver, byte);
}

static void step(void) {
  carry(&a, &b, A_TO_B);
  carry(&b, &a, B_TO_A);
  if (++steps % STEPS_PER_MS == 0) {
    link_tick(&a);
    link_tick(&b);
  }
}

static void settle(void) {
  for (int i = 0; i < 100 * STEPS_PER_MS; i++) step();
}

static void begin(void) {
  link_begin(&a, BAUD, NULL, wake, unexpected);
  link_begin(&b, BAUD, NULL, wake, unexpected);
}

static void fill(uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++) from[i] = (uint8_t)random_below(256);
  memset(to, 0, sizeof to);
}

static void run_until_sent(link_t *source) {
  while (source->sending) step();
}

static void compare(link_t *source, link_t *target, uint32_t bytes) {
  check(!source->failed, "the sender gave up");
  check(!target->receiving, "the sender is done but the receiver is not");
  check(memcmp(from, to, bytes) == 0, "the tensor has changed on its way");
  check(to[bytes] == 0, "the receiver wrote behind the tensor");
}

/* Tensors to and fro, as between the sub-models of two boards; 0 errors must cost no repetition. */
static void transfer(uint32_t bytes) {
  for (uint8_t tensor = 0; tensor < TENSORS; tensor++) {
    link_t *source = tensor % 2 ? &b : &a;
    link_t *target = tensor % 2 ? &a : &b;
    uint32_t length = tensor == 0 ? bytes : 1 + random_below(bytes);
    fill(length);
    link_receive(target, tensor, to, length);
    unsigned long before = steps;
    link_send(source, tensor, from, length);
    run_until_sent(source);
    compare(source, target, length);
    if (tensor == 0) printf("repeats %u steps %lu sent %lu %lu\n", a.repeats, steps - before, sent[0], sent[1]);
  }
  check(errors_per_million > 0 || unexpected_count == 0, "a tensor was unexpected");
}

/* The receiver computes for a while, as long as it likes, before it awaits the tensor. */
static void late(uint32_t bytes) {
  fill(bytes);
  link_send(&a, 0, from, bytes);
  for (uint32_t i = random_below(50 * 20000); i > 0; i--) step();
  check(errors_per_million > 0 || steps < 2000 || (a.held && !a.flowing), "a sender was not told to wait");
  link_receive(&b, 0, to, bytes);
  unsigned long before = steps;
  run_until_sent(&a);
  compare(&a, &b, bytes);
  check(!a.held && !a.flowing, "the sender is done but believes to be sending");
  /* At most a question is under way when the receiver is ready: a frame and the NAK's way. */
  uint32_t line_bytes = bytes + (bytes / FRAME_MAX_PAYLOAD + 2) * FRAME_OVERHEAD_BYTES;
  uint32_t window_bytes = LINK_WINDOW * (FRAME_MAX_PAYLOAD + FRAME_OVERHEAD_BYTES);
  check(errors_per_million > 0 || steps - before <= line_bytes + window_bytes + 20, "the sender went on too late");
  check(errors_per_million > 0 || a.repeats == 0, "a question was counted as a repetition");
  check(unexpected_count == 0, "a tensor that came early was called unexpected");
}

/* All ACKs of a window are lost for a while; then the receiver, which computes, acknowledges again. A new tensor is not mistaken. */
static void lost_ack(uint32_t bytes) {
  fill(bytes);
  link_receive(&b, 0, to, bytes);
  link_send(&a, 0, from, bytes);
  lose_direction = B_TO_A;
  while (b.receiving) step();
  settle();
  check(a.sending, "the sender is done without an ACK");
  lose_direction = -1;
  run_until_sent(&a);
  compare(&a, &b, bytes);
  check(a.repeats > 0, "nothing was repeated");
  link_send(&a, 0, from, bytes);
  settle();
  check(a.sending && a.out_base == 0, "a tensor that is not awaited was acknowledged");
  link_receive(&b, 0, to, bytes);
  run_until_sent(&a);
  compare(&a, &b, bytes);
}

static void dead(uint32_t bytes) {
  fill(bytes);
  lose_direction = A_TO_B;
  link_send(&a, 0, from, bytes);
  run_until_sent(&a);
  check(a.failed, "the sender did not notice that nobody is there");
  check(a.repeats == LINK_MAX_STALLS + 1, "the sender repeated too often or not often enough");
  check(steps / STEPS_PER_MS <= (LINK_MAX_STALLS + 1) * (a.timeout_ms + 1), "the sender took too long to give up");
}

static void wrong_tag(uint32_t bytes) {
  fill(bytes);
  link_receive(&b, 7, to, bytes);
  link_send(&a, 3, from, bytes);
  run_until_sent(&a);
  check(a.failed && b.receiving, "a wrong tensor was taken");
  check(unexpected_tag == 3 && unexpected_count == 1, "the wrong tensor was not reported once");
}

/* Both ends stop in the middle of a tensor, then begin anew: nothing of the old run may be taken. */
static void stop(uint32_t bytes) {
  fill(bytes);
  link_receive(&b, 0, to, bytes);
  link_send(&a, 0, from, bytes);
  for (uint32_t i = random_below(bytes); i > 0; i--) step();
  link_reset(&a);
  for (uint32_t i = random_below(10); i > 0; i--) step();
  link_reset(&b);
  fill(bytes);
  link_receive(&b, 0, to, bytes);
  link_send(&a, 0, from, bytes);
  run_until_sent(&a);
  compare(&a, &b, bytes);
}

/* Bytes from nowhere, some of which look like frames. */
static void noise(uint32_t bytes) {
  link_receive(&b, 0, to, bytes);
  for (int i = 0; i < 200000; i++) {
    frame_receive(&b.receiver, random_below(20) ? (uint8_t)random_below(256) : FRAME_SYNC);
    frame_receive(&b.receiver, random_below(3) ? (uint8_t)random_below(4) : FRAME_DATA);
    uint8_t byte;
    frame_next_byte(&b.transmitter, &byte);
    if (i % STEPS_PER_MS == 0) link_tick(&b);
  }
  link_reset(&b);
  transfer(bytes);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(uint32_t bytes);
  } scenarios[] = {{"transfer", transfer}, {"late", late},           {"lost_ack", lost_ack}, {"dead", dead},
                   {"stop", stop},         {"wrong_tag", wrong_tag}, {"noise", noise}};
  if (argc != 5) return 2;
  state = (uint32_t)strtoul(argv[2], NULL, 10) * 2654435761u + 1u;
  errors_per_million = (uint32_t)strtoul(argv[4], NULL, 10);
  begin();
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
    if (strcmp(argv[1], scenarios[i].name)) continue;
    scenarios[i].run((uint32_t)strtoul(argv[3], NULL, 10));
    return 0;
  }
  return 2;
}
