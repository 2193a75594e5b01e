/* Of a board without links. */
#include "transfers.h"

void transfers_begin(void) {}

void transfers_join(uint32_t run) { (void)run; }

void transfers_leave(void) {}

void transfers_announce(void) {}

bool transfers_are_joined(void) { return true; }

uint32_t transfers_neighbour(uint32_t cut) {
  (void)cut;
  return network_board_index;
}

bool transfers_are_busy(void) { return false; }

void transfers_tick(void) {}

bool transfers_poll(void) { return true; }

#ifdef STOP_MODE
bool transfers_are_sending(void) { return false; }

void transfers_listen(bool does) { (void)does; }

void transfers_probe(void) {}

void transfers_stay_awake(void) {}
#endif

uint32_t transfers_repeats(void) { return 0; }

uint32_t transfers_line_errors(void) { return 0; }

uint32_t transfers_stamps(const void **stamps) {
  *stamps = NULL;
  return 0;
}

uint8_t transfers_driver(void) { return TRANSFERS_NONE; }
