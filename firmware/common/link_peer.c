/* HELLO: who is at the other end, in which run, and what to call it when it does not answer. */
#include "link_parts.h"

enum { HELLO_BYTES = 16, MOST_REFUSALS = 2, BOOT_HELLOS = 3 };

uint16_t link_peer_note(const link_t *link, uint8_t *note) {
  const link_identity_t *identity = link->settings->identity;
  note[0] = LINK_VERSION;
  note[1] = identity->board;
  note[2] = link->is_joining ? LINK_JOINING : link->state;
  note[3] = identity->reset_cause;
  link_put_u32(note + 4, identity->boot_count);
  link_put_u32(note + 8, identity->plan);
  link_put_u32(note + 12, link->is_joining ? link->wanted : link->run);
  return HELLO_BYTES;
}

static bool is_newer(uint32_t run, uint32_t than) { return (int32_t)(run - than) > 0; }

static void say_hello(link_t *link) {
  link->answers |= LINK_SAY_HELLO;
  link_wake(link);
}

/* HELLO has left. A board that has booted says so a few times. */
void link_peer_asked(link_t *link) {
  if (link->state == LINK_STOPPED && link->hellos >= BOOT_HELLOS) return;
  uint32_t ms = link_smaller((link->hellos + 1u) * LINK_RETRY_MS, LINK_RETRY_MOST_MS);
  link->hello_ms = (uint16_t)(ms + link_ms_of(link, 64) + link->ahead / link->settings->baud);
}

void link_announce(link_t *link) {
  link->hello_ms = (uint16_t)(2u * LINK_SILENCE_MS + link_ms_of(link, 4));
}

void link_peer_ask(link_t *link) {
  if (link->state == LINK_STOPPED || link->hello_ms || (link->answers & LINK_SAY_HELLO)) return;
  say_hello(link);
}

bool link_is_running(const link_t *link) { return link->state == LINK_RUNNING; }

bool link_peer_is_sending(const link_t *link) {
  return link->quiet_ms < LINK_QUERY_MS && link->deaf_ms < link_ms_of(link, LINK_MAX_PAYLOAD + 64) + LINK_RETRY_MS;
}

void link_probe(link_t *link) {
  if (!link->was_heard) link_peer_ask(link);
  link->was_heard = false;
}

/* Nothing was heard since the last HELLO. A frame may be on its way for long. */
void link_peer_tick(link_t *link) {
  if (link->hello_ms == 0 || --link->hello_ms > 0) return;
  if (link->state == LINK_RUNNING && link_peer_is_sending(link)) {
    link->hello_ms = 1;
    return;
  }
  uint32_t most = LINK_ATTEMPTS + link->settings->patience_ms / LINK_RETRY_MOST_MS;
  if (link->hellos <= most) link->hellos++;
  if (link->hellos > most && link->state != LINK_STOPPED && link->failure == LINK_NO_FAILURE) {
    link->failure = LINK_NO_ANSWER;
    link_tell(link, LINK_EVENT_FAILED, LINK_NO_CHANNEL, LINK_NO_ANSWER);
  }
  say_hello(link);
}

/* A good frame has arrived. */
void link_peer_heard(link_t *link) {
  link->was_heard = true;
  link->deaf_ms = 0;
  link->hellos = 0;
  if (link->state != LINK_STARTING) link->hello_ms = 0;
  if (link->failure != LINK_NO_ANSWER) return;
  link->failure = LINK_NO_FAILURE;
  link_tell(link, LINK_EVENT_ANSWERED, LINK_NO_CHANNEL, 0);
}

/* The peer is in this run: what was said to it before may have been noise to it. */
static void confirm(link_t *link) {
  if (link->state != LINK_STARTING) return;
  link->state = LINK_RUNNING;
  link->hello_ms = 0;
  link->answers = (uint8_t)(link->answers & ~LINK_SAY_HELLO);
  for (uint8_t i = 0; i < link->settings->channel_count; i++) {
    link_channel_t *channel = link_at(link, i);
    if (channel->state == LINK_GRANTED) link_say(link, channel, LINK_SAY_GRANT);
    if (channel->state == LINK_QUEUED) link_say(link, channel, LINK_SAY_OFFER);
  }
}

static void join_asked(link_t *link, uint32_t run) {
  bool may_join = link->state == LINK_STOPPED ? run != link->run : is_newer(run, link->run);
  if (!may_join || (link->is_joining && link->wanted == run)) return;
  link->wanted = run;
  link->is_joining = true;
  link_tell(link, LINK_EVENT_HELLO, LINK_NO_CHANNEL, run);
}

/* Who begins another run has left this one: where it is no newer one, the board joins it later, when it has stopped. */
static void start_asked(link_t *link, uint32_t run) {
  if (link->state == LINK_RUNNING && !is_newer(run, link->run)) {
    link_fail(link, LINK_NO_CHANNEL, LINK_PEER_STOPPED);
  } else {
    join_asked(link, run);
  }
}

static void stopped(link_t *link, bool is_reply) {
  if (link->state == LINK_RUNNING || (is_reply && ++link->refusals > MOST_REFUSALS)) {
    link_fail(link, LINK_NO_CHANNEL, LINK_PEER_STOPPED);
  }
}

/* What is wrong with the peer, whatever it does. */
static link_failure_t mismatch(const link_t *link, const uint8_t *note) {
  if (note[0] != LINK_VERSION) return LINK_OTHER_VERSION;
  if (link_get_u32(note + 8) != link->settings->identity->plan) return LINK_OTHER_PLAN;
  if (note[1] != link->settings->peer) return LINK_WRONG_BOARD;
  if (link->state == LINK_RUNNING && link_get_u32(note + 4) != link->peer_boot) return LINK_PEER_RESTARTED;
  return LINK_NO_FAILURE;
}

static void take_state(link_t *link, uint8_t state, uint32_t run, bool is_reply) {
  bool is_in_run = link->state != LINK_STOPPED && run == link->run;
  if (state == LINK_STOPPED) {
    if (link->state != LINK_STOPPED) stopped(link, is_reply);
  } else if (state == LINK_JOINING) {
    link->refusals = 0;
  } else if (is_in_run) {
    confirm(link);
  } else if (state == LINK_STARTING) {
    start_asked(link, run);
  } else if (link->state != LINK_STOPPED && is_newer(run, link->run)) {
    link_fail(link, LINK_NO_CHANNEL, LINK_OTHER_RUN);
  }
}

void link_peer_hello(link_t *link, const uint8_t *note) {
  bool is_reply = link->parser.header.type == LINK_HELLO_REPLY;
  if (!is_reply) {
    link->answers |= LINK_SAY_HELLO_REPLY;
    link_wake(link);
  }
  bool is_known = note[0] == LINK_VERSION && link->parser.header.length == HELLO_BYTES;
  if (note[0] == LINK_VERSION && !is_known) return;
  link_failure_t reason = mismatch(link, note);
  if (reason != LINK_NO_FAILURE) {
    if (link->state != LINK_STOPPED) link_fail(link, LINK_NO_CHANNEL, reason);
    return;
  }
  if (link->state != LINK_RUNNING) link->peer_boot = link_get_u32(note + 4);
  take_state(link, note[2], link_get_u32(note + 12), is_reply);
}
