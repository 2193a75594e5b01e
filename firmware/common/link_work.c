/* CRCs over the units of a damaged frame, and over blocks that came in another order: a piece in each call. */
#include "link_parts.h"

static bool is_wanted(const link_t *link) {
  const link_work_t *work = &link->work;
  const link_channel_t *channel = link_at(link, work->index);
  return channel->number == work->number && channel->state == (work->job == LINK_COMPARE ? LINK_MOVING : LINK_GRANTED);
}

static void end(link_t *link) {
  link_work_t *work = &link->work;
  uint8_t job = work->job;
  work->job = job == LINK_MAKE_ANSWER ? LINK_ANSWER_MADE : LINK_NO_JOB;
  if (job == LINK_MAKE_ANSWER) link_say(link, link_at(link, work->index), LINK_SAY_DAMAGED);
  if (job == LINK_COMPARE) link_out_compared(link);
  if (job == LINK_CHECK) link_in_checked(link);
}

static void take_unit(link_t *link) {
  link_work_t *work = &link->work;
  link_units_t units = link_units(work->first, work->blocks, link_plan(link, work->index)->bytes);
  uint8_t i = work->unit++;
  bool is_confirmed = ((uint32_t)work->bits >> i & 1u) != 0;
  if (work->job != LINK_CHECK || is_confirmed) {
    uint32_t crc = link_unit_crc(&units, link_at(link, work->index)->data.from, i);
    if (work->job == LINK_MAKE_ANSWER) work->crcs[i] = (uint16_t)crc;
    if (work->job == LINK_COMPARE && work->crcs[i] == (crc & 0xFFFFu)) {
      work->bits = (uint16_t)(work->bits | 1u << i);
      is_confirmed = true;
    }
    if (is_confirmed) work->crc = link_unit_add(work->crc, crc);
  }
  if (work->unit == units.count) end(link);
}

static bool check_channels(link_t *link) {
  for (uint8_t i = 0; link->may_check && i < link->settings->channel_count; i++) {
    if (link_plan(link, i)->is_out || !link_in_is_checking(link, i)) continue;
    link_in_check(link, i);
    return true;
  }
  link->may_check = false;
  return false;
}

bool link_work(link_t *link) {
  link_work_t *work = &link->work;
  if (work->job == LINK_NO_JOB || work->job == LINK_ANSWER_MADE) return check_channels(link);
  if (is_wanted(link)) {
    take_unit(link);
  } else {
    work->job = LINK_NO_JOB;
  }
  return true;
}
