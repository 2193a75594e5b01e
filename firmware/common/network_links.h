/* The links of a board that has any: the definitions are in the generated src/network.c. */
#ifndef NETWORK_LINKS_H
#define NETWORK_LINKS_H

#include "link.h"
#include "network.h"

/* Of board_links, by the link indices of the transfers. */
extern const link_settings_t network_link_settings[];

extern const network_transfer_t network_transfers[];
extern const uint16_t network_transfer_count;

/* Of a tensor that is sent, by its index in network_transfers: when it began to leave, and the ticks of its copy;
 * READ_STAMPS has it in this format.
 */
typedef struct {
  uint64_t started;
  uint32_t copied;
  uint32_t unused;
} network_sending_t;

extern network_sending_t network_sendings[];

/* Of transfers.c, for the settings. */
extern link_identity_t transfers_identity;
void transfers_on_event(link_t *link, link_event_t event, uint8_t channel, uint32_t detail);

#endif
