/* Of a program whose weights are part of it. */
#include "weights_file.h"

bool weights_file_check(uint32_t *reason) {
  (void)reason;
  return true;
}

uint32_t weights_file_network(void) { return 0; }
