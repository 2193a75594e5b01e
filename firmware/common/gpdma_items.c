#include "device.h"

#ifdef GPDMA1

/* At a multiple of their size: none lies across a border of 64 KB. */
gpdma_item_t gpdma_items[GPDMA_CHANNELS] __attribute__((aligned(sizeof(gpdma_item_t))));

#endif
