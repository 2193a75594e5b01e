/* Two boards with a link between them, over a line that a fault befalls; a step is the time of one byte.
 *
 * usage: link_line [NAME=VALUE]...
 * Runs `seeds` simulations, each of `tensors` inferences, and prints totals. With `again` each is followed by a run
 * without faults, which has to be right. Exits with 1 at a wrong tensor, at a simulation that takes longer than
 * `limit_ms`, and at a failed run without faults. Rates of faults are per 10^9 bits (flip) or bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

enum { A, B, SIDES, CHANNELS = 4, LARGEST = 65536, RING = 4096, RUN = 1000, NEVER = 0x7FFFFFFF };
enum { FLIP, LOSE, DOUBLE, INSERT };

/* Options, with their defaults. */
#define OPTIONS(X) \
  X(seed, 1) \
  X(seeds, 1) \
  X(tensors, 3) \
  X(bytes, 1000) \
  X(back_bytes, 0) \
  X(channels, 1) \
  X(baud, 115200) \
  X(flip, 0) \
  X(lose, 0) \
  X(double, 0) \
  X(insert, 0) \
  X(burst, 0) \
  X(cut_ms, 0) \
  X(cut_sides, 3) \
  X(late_ms, 0) \
  X(reset, -1) \
  X(new_run, 0) \
  X(other_plan, 0) \
  X(wrong_board, 0) \
  X(absent, 0) \
  X(flood, 0) \
  X(ack_cut, 0) \
  X(limit_ms, 0) \
  X(again, 1) \
  X(lose_at, -1) \
  X(streamed, 0) \
  X(lose_side, 0) \
  X(span, 200)

static struct {
#define MEMBER(name, value) long name##_;
  OPTIONS(MEMBER)
} option = {
#define DEFAULT(name, value) .name##_ = value,
    OPTIONS(DEFAULT)};

static const struct {
  const char *name;
  long *value;
} option_names[] = {
#define NAME(name, value) {#name, &option.name##_},
    OPTIONS(NAME)};

typedef struct {
  link_t link;
  link_settings_t settings;
  link_identity_t identity;
  link_channel_plan_t plans[2 * CHANNELS];
  link_channel_t channels[2 * CHANNELS];
  uint8_t bitmaps[2 * CHANNELS][LINK_BITMAP_BYTES(LARGEST)];
  uint8_t memory[2 * CHANNELS][LARGEST + 1];
  unsigned done[2 * CHANNELS];     /* tensors */
  double at_ms[2 * CHANNELS];      /* of the next accept or send; NEVER: none */
  double sent_ms[2 * CHANNELS];    /* of link_send */
  uint32_t ready[2 * CHANNELS];
  double join_ms, probe_ms;
  uint32_t wanted;
  uint8_t outgoing[RING], incoming[RING];
  uint32_t outgoing_count, outgoing_at, incoming_count;
  unsigned idle_steps;
  bool is_on;
  link_failure_t failure; /* that ended the run */
  bool was_silent;        /* LINK_NO_ANSWER was reported */
  double failure_ms;
} side_t;

static side_t sides[SIDES];
static uint32_t state;
static double now_ms, fault_ms, cut_from[SIDES], cut_to[SIDES], worst_ms, total_ms, last_ms, worst_failure_ms;
static unsigned long wire_bytes[SIDES], line_bytes, tensors_sent, repeats, failures[16], simulations, completed;
static bool is_clean;
static uint32_t current_run;
static long seed;

static void check(bool good, const char *text) {
  if (good) return;
  printf("seed %ld at %.1f ms: %s\n", seed, now_ms, text);
  for (int s = 0; s < SIDES; s++) {
    const side_t *side = &sides[s];
    printf("  side %d state %u failure %u\n", s, side->link.state, side->link.failure);
    for (int i = 0; i < side->settings.channel_count; i++) {
      const link_channel_t *channel = &side->channels[i];
      printf("    channel %u out %d state %u number %u done %u ", side->plans[i].channel, side->plans[i].is_out,
             channel->state, channel->number, side->done[i]);
      printf("position %lu due %u answers %u\n", (unsigned long)channel->position, channel->due_ms, channel->answers);
    }
  }
  exit(1);
}

static uint32_t random_below(uint32_t limit) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return limit ? state % limit : 0;
}

static bool happens(long per_billion) { return per_billion > 0 && random_below(1000000000u) < (uint32_t)per_billion; }

/* The tensors */

static uint8_t content(uint32_t run, uint32_t channel, unsigned tensor, uint32_t i) {
  uint32_t x = ((uint32_t)seed * 31u + run * 7919u + channel * 77777u + tensor * 1234567u + i) * 2654435761u;
  x = (x ^ x >> 15) * 2246822519u;
  return (uint8_t)(x >> 24);
}

static void begin_send(side_t *side, int i) {
  const link_channel_plan_t *plan = &side->plans[i];
  for (uint32_t b = 0; b < plan->bytes; b++) {
    side->memory[i][b] = content(side->link.run, plan->channel, side->done[i], b);
  }
  side->sent_ms[i] = now_ms;
  side->at_ms[i] = NEVER;
  side->ready[i] = option.streamed_ ? random_below(plan->bytes) : plan->bytes;
  link_send(&side->link, plan->channel, side->memory[i], (uint8_t)side->done[i], side->ready[i]);
}

static void begin_accept(side_t *side, int i) {
  side->at_ms[i] = NEVER;
  side->memory[i][side->plans[i].bytes] = 0xEE;
  link_accept(&side->link, side->plans[i].channel, side->memory[i], (uint8_t)side->done[i]);
}

static void compare(side_t *side, int i, uint32_t bytes) {
  const link_channel_plan_t *plan = &side->plans[i];
  for (uint32_t b = 0; b < bytes; b++) {
    check(side->memory[i][b] == content(side->link.run, plan->channel, side->done[i], b), "a tensor is wrong");
  }
  check(side->memory[i][plan->bytes] == 0xEE, "written behind a tensor");
}

static int index_of(const side_t *side, uint8_t channel) {
  for (int i = 0; i < side->settings.channel_count; i++) {
    if (side->plans[i].channel == channel) return i;
  }
  return -1;
}

static double later(void) { return now_ms + random_below((uint32_t)(is_clean ? 0 : option.late_ms_) + 1u); }

static void on_sent(side_t *side, int i, uint32_t detail) {
  double ms = now_ms - side->sent_ms[i];
  tensors_sent++;
  repeats += detail % 256u;
  total_ms += ms;
  last_ms = ms;
  if (ms > worst_ms) worst_ms = ms;
  side->done[i]++;
  if (side->done[i] < (unsigned)option.tensors_) side->at_ms[i] = later();
}

static void on_received(side_t *side, int i) {
  compare(side, i, side->plans[i].bytes);
  side->done[i]++;
  if (side->done[i] < (unsigned)option.tensors_) side->at_ms[i] = later();
  if (option.ack_cut_ && !is_clean && cut_from[side == &sides[B] ? B : A] == NEVER) {
    int direction = side == &sides[B] ? B : A;
    cut_from[direction] = now_ms;
    fault_ms = now_ms;
    cut_to[direction] = now_ms + (double)option.cut_ms_;
  }
}

static void on_failed(side_t *side, uint32_t reason) {
  failures[reason]++;
  if (now_ms - fault_ms > worst_failure_ms) worst_failure_ms = now_ms - fault_ms;
  if (reason == LINK_NO_ANSWER) {
    side->was_silent = true;
    return;
  }
  check(!is_clean, "a run without faults failed");
  side->failure = (link_failure_t)reason;
  side->failure_ms = now_ms;
}

static void event(link_t *link, link_event_t what, uint8_t channel, uint32_t detail) {
  side_t *side = link == &sides[A].link ? &sides[A] : &sides[B];
  int i = channel == LINK_NO_CHANNEL ? -1 : index_of(side, channel);
  switch (what) {
    case LINK_EVENT_RECEIVED: on_received(side, i); break;
    case LINK_EVENT_SENT: on_sent(side, i, detail); break;
    case LINK_EVENT_FAILED: on_failed(side, detail); break;
    case LINK_EVENT_HELLO:
      side->join_ms = later();
      side->wanted = detail;
      break;
    default: break;
  }
}

static void wake(void *port) { (void)port; }

static uint32_t left(const void *port) {
  const side_t *side = port;
  return side->outgoing_count - side->outgoing_at;
}

/* The boards */

static void plan_channels(side_t *side, bool is_a) {
  int count = 0;
  for (uint8_t c = 0; c < 2 * CHANNELS; c++) {
    bool is_back = c >= CHANNELS;
    long bytes = is_back ? option.back_bytes_ : option.bytes_;
    if (c % CHANNELS >= option.channels_ || bytes == 0) continue;
    if (c % CHANNELS) bytes = 1 + bytes / (2 * (c % CHANNELS));
    side->plans[count] = (link_channel_plan_t){
        .channel = c, .is_out = is_a != is_back, .bytes = (uint32_t)bytes, .blocks = side->bitmaps[count]};
    count++;
  }
  side->settings.channel_count = (uint8_t)count;
}

static void power_on(side_t *side) {
  bool is_a = side == &sides[A];
  side->identity.boot_count++;
  side->outgoing_count = side->outgoing_at = side->incoming_count = 0;
  side->join_ms = NEVER;
  for (int i = 0; i < 2 * CHANNELS; i++) side->at_ms[i] = NEVER;
  side->is_on = is_a || !option.absent_;
  link_begin(&side->link, &side->settings);
}

static void configure(side_t *side) {
  bool is_a = side == &sides[A];
  memset(side, 0, sizeof *side);
  plan_channels(side, is_a);
  side->identity = (link_identity_t){.plan = 0x12345678u + (uint32_t)(is_a ? 0 : option.other_plan_),
                                     .board = (uint8_t)(is_a ? 3 : 4 + option.wrong_board_)};
  side->settings.identity = &side->identity;
  side->settings.plans = side->plans;
  side->settings.channels = side->channels;
  side->settings.peer = is_a ? 4 : 3;
  side->settings.baud = (uint32_t)option.baud_;
  side->settings.port = side;
  side->settings.wake = wake;
  side->settings.left = left;
  side->settings.event = event;
  power_on(side);
}

static void join(side_t *side, uint32_t run) {
  side->join_ms = NEVER;
  side->failure = LINK_NO_FAILURE;
  side->outgoing_count = side->outgoing_at = 0;
  link_join(&side->link, run);
  for (int i = 0; i < side->settings.channel_count; i++) {
    side->done[i] = 0;
    side->at_ms[i] = later();
  }
}

static bool awaits_tensor(const side_t *side) {
  for (int i = 0; i < side->settings.channel_count; i++) {
    if (side->channels[i].state == LINK_GRANTED) return true;
  }
  return false;
}

/* What an application does at its time. */
static void act(side_t *side) {
  if (side->join_ms <= now_ms) join(side, side->wanted);
  if (side->probe_ms <= now_ms) { /* as a schedule does that waits in vain */
    side->probe_ms = now_ms + 1000;
    if (awaits_tensor(side)) link_probe(&side->link);
  }
  for (int i = 0; i < side->settings.channel_count; i++) {
    bool is_out = side->plans[i].is_out;
    if (side->at_ms[i] <= now_ms && side->link.state != 0) (is_out ? begin_send : begin_accept)(side, i);
    if (!option.streamed_) continue;
    if (is_out && side->ready[i] < side->plans[i].bytes && random_below(50) == 0) {
      side->ready[i] += 1 + random_below(side->plans[i].bytes - side->ready[i]);
      link_extend(&side->link, side->plans[i].channel, side->ready[i]);
    } else if (!is_out && side->channels[i].state == LINK_GRANTED && random_below(100) == 0) {
      compare(side, i, link_received_prefix(&side->link, side->plans[i].channel));
    }
  }
}

/* The line */

static void hand_over(side_t *side) {
  if (side->incoming_count == 0) return;
  uint32_t count = side->incoming_count;
  side->incoming_count = 0;
  if (side->is_on) link_receive_bytes(&side->link, side->incoming, count);
}

static void arrive(side_t *side, uint8_t byte) {
  side->incoming[side->incoming_count++] = byte;
  side->idle_steps = 0;
  if (side->incoming_count == RING || random_below((uint32_t)option.span_) == 0) hand_over(side);
}

static void distort(side_t *target, int direction, uint8_t byte) {
  if (cut_from[direction] <= now_ms && now_ms < cut_to[direction]) {
    if (option.burst_ && random_below(2)) arrive(target, (uint8_t)random_below(256));
    return;
  }
  if (!is_clean) {
    for (int bit = 0; bit < 8; bit++) byte ^= (uint8_t)(happens(option.flip_) << bit);
    if (happens(2 * option.flip_)) return; /* start or stop bit */
    if (happens(option.lose_)) return;
    if (happens(option.double_)) arrive(target, byte);
    if (happens(option.insert_)) arrive(target, (uint8_t)random_below(256));
  }
  arrive(target, byte);
}

static void carry(side_t *source, side_t *target, int direction) {
  if (source->outgoing_at == source->outgoing_count && source->is_on) {
    source->outgoing_at = 0;
    source->outgoing_count = link_fill(&source->link, source->outgoing, 1 + random_below((uint32_t)option.span_));
  }
  if (source->outgoing_at < source->outgoing_count) {
    uint8_t byte = source->outgoing[source->outgoing_at++];
    bool is_counted = !is_clean && direction == option.lose_side_ && sides[A].done[0] + 1 == (unsigned)option.tensors_;
    bool is_chosen = is_counted && (long)line_bytes++ == option.lose_at_;
    wire_bytes[direction]++;
    if (!is_chosen) distort(target, direction, byte);
  } else if (option.flood_ && !is_clean && direction == B) {
    arrive(target, random_below(20) ? (uint8_t)random_below(256) : 0xA5);
  } else if (++target->idle_steps == 1) {
    hand_over(target);
  }
}

static void step(void) {
  static double since_tick;
  double byte_ms = 10000.0 / (double)option.baud_;
  now_ms += byte_ms;
  since_tick += byte_ms;
  carry(&sides[A], &sides[B], A);
  carry(&sides[B], &sides[A], B);
  for (; since_tick >= 1; since_tick -= 1) {
    for (int s = 0; s < SIDES; s++) {
      hand_over(&sides[s]);
      if (sides[s].is_on && link_is_busy(&sides[s].link)) link_tick(&sides[s].link);
    }
  }
  for (int s = 0; s < SIDES; s++) {
    if (sides[s].is_on) (void)link_work(&sides[s].link);
  }
  act(&sides[A]);
  act(&sides[B]);
}

static bool all_done(void) {
  for (int s = 0; s < SIDES; s++) {
    if (sides[s].link.run != current_run) return false;
    for (int i = 0; i < sides[s].settings.channel_count; i++) {
      if (sides[s].done[i] < (unsigned)option.tensors_) return false;
    }
  }
  return true;
}

/* What a person or another part of the board does, once, at `fault_ms`. */
static void strike(void) {
  if (option.reset_ >= 0) power_on(&sides[option.reset_]);
  if (option.new_run_) {
    current_run++;
      join(&sides[A], current_run);
  }
}

static double clean_ms(void) {
  double bytes = (double)(option.bytes_ + option.back_bytes_) * (double)option.channels_ * 1.1 + 200;
  return bytes * 10000.0 / (double)option.baud_ * (double)option.tensors_ + 200;
}

/* False after a reset at the very start: the host sees the boot count. */
static bool is_any_in_run(void) {
  for (int s = 0; s < SIDES; s++) {
    if (sides[s].link.state != 0 || sides[s].join_ms < NEVER) return true;
  }
  return false;
}

/* Until all has arrived, or a failure has ended the run. */
static void simulate(double limit_ms) {
  double end_ms = now_ms + limit_ms;
  bool has_struck = is_clean;
  while (!all_done()) {
    if (!has_struck && now_ms >= fault_ms) {
      has_struck = true;
      strike();
    }
    step();
    bool is_over = sides[A].failure || sides[B].failure || (option.absent_ && sides[A].was_silent) || !is_any_in_run();
    if (is_over && !is_clean) return;
    check(now_ms < end_ms, "no end");
  }
  completed++;
}

static void recover(void) {
  is_clean = true;
  now_ms += 1;
  for (int s = 0; s < SIDES; s++) cut_to[s] = 0;
  for (int s = 0; s < SIDES; s++) sides[s].identity.plan = 0x12345678u;
  sides[B].identity.board = 4;
  for (int i = (int)random_below(300); i > 0; i--) step();
  sides[B].is_on = true;
  current_run++;
  join(&sides[A], current_run);
  unsigned long before = completed;
  simulate(clean_ms() * 2 + 1000);
  completed = before;
}

static void run_seed(void) {
  state = (uint32_t)seed * 2654435761u + 1u;
  now_ms = 0;
  line_bytes = 0;
  is_clean = false;
  current_run = RUN;
  configure(&sides[A]);
  configure(&sides[B]);
  double limit = option.limit_ms_ ? (double)option.limit_ms_ : 20 * clean_ms() + 5000;
  fault_ms = random_below((uint32_t)(clean_ms() * 1000)) / 1000.0;
  bool cuts_now = option.cut_ms_ && !option.ack_cut_;
  for (int s = 0; s < SIDES; s++) {
    bool is_cut = cuts_now && (option.cut_sides_ >> s & 1);
    cut_from[s] = is_cut ? fault_ms : NEVER;
    cut_to[s] = is_cut ? fault_ms + (double)option.cut_ms_ : NEVER;
  }
  if (option.absent_ || option.other_plan_ || option.wrong_board_ || option.flip_) fault_ms = 0;
  join(&sides[A], current_run);
  simulate(limit + (double)option.cut_ms_);
  simulations++;
  if (option.again_) recover();
}

static void set_option(const char *text) {
  const char *value = strchr(text, '=');
  for (size_t i = 0; value && i < sizeof option_names / sizeof option_names[0]; i++) {
    const char *name = option_names[i].name;
    if (strncmp(name, text, (size_t)(value - text)) || name[value - text]) continue;
    *option_names[i].value = atol(value + 1);
    return;
  }
  fprintf(stderr, "no option %s\n", text);
  exit(2);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) set_option(argv[i]);
  for (long i = 0; i < option.seeds_; i++) {
    seed = option.seed_ + i;
    run_seed();
  }
  printf("simulations %lu completed %lu tensors %lu repeats %lu ", simulations, completed, tensors_sent, repeats);
  double mean_ms = total_ms / (double)(tensors_sent ? tensors_sent : 1);
  printf("worst_ms %.2f last_ms %.2f mean_ms %.3f ", worst_ms, last_ms, mean_ms);
  printf("wire_a %lu wire_b %lu failure_ms %.1f", wire_bytes[A], wire_bytes[B], worst_failure_ms);
  for (int i = 1; i < 16; i++) {
    if (failures[i]) printf(" failure_%d %lu", i, failures[i]);
  }
  printf("\n");
  return 0;
}
