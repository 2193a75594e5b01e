/* Which kernel positions of a window lie on the map, along one axis; `origin` is where its first position lies. */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdint.h>

/* The first kernel position that is not before the map. */
static inline int32_t window_begin(int32_t origin, int32_t dilation) {
  return origin < 0 ? (-origin + dilation - 1) / dilation : 0;
}

/* One past the last kernel position that is not behind the map of `size` elements. */
static inline int32_t window_end(int32_t origin, int32_t dilation, int32_t kernel, int32_t size) {
  const int32_t end = (size - origin + dilation - 1) / dilation;
  return end < kernel ? end : kernel;
}

#endif
