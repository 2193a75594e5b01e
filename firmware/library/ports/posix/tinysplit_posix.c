#define _POSIX_C_SOURCE 200809L
#include "tinysplit_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

static void send_bytes(void *context, uint8_t link, const uint8_t *bytes, uint32_t count) {
  tinysplit_posix_t *posix = context;
  posix->links[link].bytes = bytes;
  posix->links[link].left = count;
}

static uint32_t milliseconds(void *context) {
  (void)context;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

static void sleep_a_while(void *context) { (void)tinysplit_posix_wait(context, 1); }

void tinysplit_posix_begin(tinysplit_posix_t *posix, const tinysplit_calls_t *library, const int *files, uint8_t count) {
  *posix = (tinysplit_posix_t){.library = library, .link_count = count};
  posix->port = (tinysplit_port_t){
      .context = posix, .send = send_bytes, .milliseconds = milliseconds, .sleep = sleep_a_while};
  for (uint8_t i = 0; i < count; i++) {
    posix->links[i].file = files[i];
    (void)fcntl(files[i], F_SETFL, fcntl(files[i], F_GETFL) | O_NONBLOCK);
  }
}

/* Where the other end is closed, nobody answers. */
static void close_link(tinysplit_posix_t *posix, uint8_t link) { posix->links[link].file = -1; }

static void take(tinysplit_posix_t *posix, uint8_t link) {
  uint8_t bytes[256];
  ssize_t count = read(posix->links[link].file, bytes, sizeof bytes);
  if (count > 0) posix->library->received(link, bytes, (uint32_t)count);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) close_link(posix, link);
}

static void give(tinysplit_posix_t *posix, uint8_t link) {
  ssize_t count = write(posix->links[link].file, posix->links[link].bytes, posix->links[link].left);
  if (count < 0 && errno != EAGAIN && errno != EINTR) close_link(posix, link);
  if (count <= 0) return;
  posix->links[link].bytes += count;
  posix->links[link].left -= (uint32_t)count;
  if (posix->links[link].left == 0) posix->library->sent(link);
}

int tinysplit_posix_wait(tinysplit_posix_t *posix, int ms) {
  struct pollfd files[TINYSPLIT_POSIX_MOST_LINKS];
  int open_files = 0;
  for (uint8_t i = 0; i < posix->link_count; i++) {
    files[i].fd = posix->links[i].file;
    files[i].events = (short)(POLLIN | (posix->links[i].left ? POLLOUT : 0));
    files[i].revents = 0;
    open_files += posix->links[i].file >= 0;
  }
  if (open_files == 0) return -1;
  if (poll(files, posix->link_count, ms) <= 0) return 0;
  for (uint8_t i = 0; i < posix->link_count; i++) {
    if (files[i].revents & (POLLIN | POLLHUP | POLLERR)) take(posix, i);
    if ((files[i].revents & POLLOUT) && posix->links[i].file >= 0) give(posix, i);
  }
  return 0;
}
