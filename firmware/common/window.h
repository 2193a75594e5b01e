/* The kernel positions of a window that lie inside the input, along one axis; `origin` is the first one's position. */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdint.h>

/* The first kernel position inside the input. */
static inline int32_t window_begin(int32_t origin, int32_t dilation) {
  return origin < 0 ? (-origin + dilation - 1) / dilation : 0;
}

/* One past the last kernel position inside the input of `size` elements. */
static inline int32_t window_end(int32_t origin, int32_t dilation, int32_t kernel, int32_t size) {
  const int32_t end = (size - origin + dilation - 1) / dilation;
  return end < kernel ? end : kernel;
}

#endif
