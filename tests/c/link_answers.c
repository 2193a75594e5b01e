/* One end of a link, frame by frame: obeys commands from stdin, prints events and all bytes that leave.
 *
 * join RUN | leave | accept CHANNEL NUMBER | send CHANNEL NUMBER READY | extend CHANNEL READY | bytes HEX
 * tick COUNT | prefix CHANNEL | memory CHANNEL | crc HEX | zeros CRC COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "link.h"

#ifndef FRAME_SHARE
#define FRAME_SHARE 0 /* of channel 9 */
#endif

enum { CHANNELS = 5, LARGEST = 32768, LINE = 16384 };

static uint8_t memory[CHANNELS][LARGEST], bitmaps[CHANNELS][LINK_BITMAP_BYTES(LARGEST)];
static const link_channel_plan_t plans[CHANNELS] = {
    {.channel = 6, .bytes = 56, .blocks = bitmaps[0]},
    {.channel = 7, .bytes = 5000, .blocks = bitmaps[1]},
    {.channel = 8, .is_out = true, .bytes = 56, .blocks = bitmaps[2]},
    {.channel = 9, .is_out = true, .frame_share = FRAME_SHARE, .bytes = 5000, .blocks = bitmaps[3]},
    {.channel = 10, .bytes = LARGEST, .blocks = bitmaps[4]}};
static link_channel_t channels[CHANNELS];
static const link_identity_t identity = {.plan = 0xC0FFEE01u, .boot_count = 5, .board = 2, .reset_cause = 3};
static link_t link;

static void wake(void *port) { (void)port; }

static uint32_t bytes_left;

static uint32_t left(const void *port) {
  (void)port;
  return bytes_left;
}

static void event(link_t *which, link_event_t what, uint8_t channel, uint32_t detail) {
  (void)which;
  printf("event %d %u %lu\n", what, channel, (unsigned long)detail);
}

static const link_settings_t settings = {.identity = &identity,
                                         .plans = plans,
                                         .channels = channels,
                                         .channel_count = CHANNELS,
                                         .peer = 5,
                                         .baud = 115200,
                                         .wake = wake,
                                         .left = left,
                                         .event = event};

static void drain(void) {
  uint8_t bytes[7];
  uint32_t count = link_fill(&link, bytes, sizeof bytes);
  if (count == 0) return;
  printf("out ");
  for (; count; count = link_fill(&link, bytes, sizeof bytes)) {
    for (uint32_t i = 0; i < count; i++) printf("%02x", bytes[i]);
  }
  printf("\n");
}

static uint32_t read_hex(const char *text, uint8_t *bytes) {
  uint32_t count = 0;
  char pair[3] = {0};
  for (; text[0] && text[1]; text += 2) {
    memcpy(pair, text, 2);
    bytes[count++] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return count;
}

static uint8_t *memory_of(unsigned long channel) { return memory[channel - plans[0].channel]; }

static void print_memory(unsigned long channel) {
  printf("memory ");
  for (uint32_t i = 0; i < plans[channel - plans[0].channel].bytes; i++) printf("%02x", memory_of(channel)[i]);
  printf("\n");
}

static void print_prefix(uint8_t channel) {
  printf("prefix %lu\n", (unsigned long)link_received_prefix(&link, channel));
}

static void obey(const char *command, const char *text, const unsigned long *numbers) {
  static uint8_t bytes[LINE];
  uint8_t channel = (uint8_t)numbers[0];
  uint8_t number = (uint8_t)numbers[1];
  if (!strcmp(command, "join")) link_join(&link, (uint32_t)numbers[0]);
  if (!strcmp(command, "leave")) link_leave(&link);
  if (!strcmp(command, "accept")) link_accept(&link, channel, memory_of(channel), number);
  if (!strcmp(command, "send")) link_send(&link, channel, memory_of(channel), number, (uint32_t)numbers[2]);
  if (!strcmp(command, "extend")) link_extend(&link, channel, (uint32_t)numbers[1]);
  if (!strcmp(command, "bytes")) link_receive_bytes(&link, bytes, read_hex(text, bytes));
  if (!strcmp(command, "left")) bytes_left = (uint32_t)numbers[0];
  if (!strcmp(command, "prefix")) print_prefix(channel);
  if (!strcmp(command, "memory")) print_memory(channel);
  if (!strcmp(command, "crc")) printf("%lu\n", (unsigned long)crc32(0, bytes, read_hex(text, bytes)));
  if (!strcmp(command, "zeros")) {
    printf("%lu\n", (unsigned long)crc32_zeros((uint32_t)numbers[0], (uint32_t)numbers[1]));
  }
  for (unsigned long i = 0; !strcmp(command, "tick") && i < numbers[0]; i++) {
    drain();
    if (link_is_busy(&link)) link_tick(&link);
  }
  while (link_work(&link)) {
  }
}

int main(void) {
  static char line[2 * LINE], command[16], text[2 * LINE];
  for (int c = 2; c < CHANNELS; c++) {
    for (int i = 0; i < LARGEST; i++) memory[c][i] = (uint8_t)(i * 7 + i / 256 + c);
  }
  link_begin(&link, &settings);
  while (fgets(line, sizeof line, stdin)) {
    unsigned long numbers[3] = {0};
    text[0] = 0;
    if (sscanf(line, "%15s %s", command, text) < 1) continue;
    sscanf(line, "%*s %lu %lu %lu", &numbers[0], &numbers[1], &numbers[2]);
    obey(command, text, numbers);
    drain();
  }
  return 0;
}
