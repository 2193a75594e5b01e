/* Of a program without weights in external memory. */
#include "external_memory.h"

bool external_memory_check(uint32_t *found) {
  (void)found;
  return true;
}
