/* Of a program that takes files without a signature. */
#include "weights_signature.h"

bool weights_signature_is_good(const uint32_t *file, const uint32_t *first_unit) {
  (void)file;
  (void)first_unit;
  return true;
}
