/* The arithmetic of fixed_point.h on numbers from stdin, one result a line: "shift SUM BITS", "quotient SUM COUNT",
 * "long SUM COUNT", "requantize SUM PRE FACTOR OFFSET POST LOW HIGH", "clamp VALUE LOW HIGH".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fixed_point.h"

int main(void) {
  char line[128], name[16];
  while (fgets(line, sizeof line, stdin)) {
    int64_t v[7] = {0};
    sscanf(line, "%15s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, name, &v[0],
           &v[1], &v[2], &v[3], &v[4], &v[5], &v[6]);
    const int32_t w[7] = {(int32_t)v[0], (int32_t)v[1], (int32_t)v[2], (int32_t)v[3],
                          (int32_t)v[4], (int32_t)v[5], (int32_t)v[6]};
    int64_t result;
    if (strcmp(name, "shift") == 0) {
      result = fixed_point_shift(w[0], w[1]);
    } else if (strcmp(name, "quotient") == 0) {
      result = fixed_point_quotient(w[0], w[1]);
    } else if (strcmp(name, "long") == 0) {
      result = fixed_point_long_quotient(v[0], v[1]);
    } else if (strcmp(name, "requantize") == 0) {
      result = fixed_point_requantize(w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
    } else if (strcmp(name, "clamp") == 0) {
      result = fixed_point_clamp(w[0], w[1], w[2]);
    } else {
      return 2;
    }
    printf("%" PRId64 "\n", result);
  }
  return 0;
}
