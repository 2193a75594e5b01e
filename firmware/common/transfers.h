/* The links to the neighbours: steps that receive and send tensors, and what the other modules ask of all links
 * together.
 *
 * A project without links has no_transfers.c in place of transfers.c, and no link at all.
 */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "network.h"

enum { TRANSFERS_NONE, TRANSFERS_DMA, TRANSFERS_INTERRUPT, TRANSFERS_POLLING }; /* driver of the links' UARTs */

/* Starts UARTs and links; the board is in no run. */
void transfers_begin(void);

/* All links begin run `run`, but for those that are in it already; buffers beside the arena are granted. To be
 * called with interrupts masked. */
void transfers_join(uint32_t run);
void transfers_leave(void);

/* Tells the neighbours that the board is in no run, so that they need not find out. */
void transfers_announce(void);

/* Whether all neighbours are in the run. */
bool transfers_are_joined(void);

/* Index of the board at the other end of a cut. */
uint32_t transfers_neighbour(uint32_t cut);

/* Of a link's UART, or of its DMA channels. */
void transfers_interrupt(uint32_t link);

/* True while a link can time out: transfers_tick is to be called once a millisecond. */
bool transfers_are_busy(void);
void transfers_tick(void);

/* While waiting: takes what has arrived. Returns whether the core may sleep until an interrupt. */
bool transfers_poll(void);

#ifdef STOP_MODE
/* Whether bytes are leaving; whether the receivers listen; asks whether the neighbours are there; stays awake for what
 * one of them is sending. */
bool transfers_are_sending(void);
void transfers_listen(bool does);
void transfers_probe(void);
void transfers_stay_awake(void);
#endif

/* Sums over all links. */
uint32_t transfers_repeats(void);
uint32_t transfers_line_errors(void);

uint8_t transfers_driver(void);

/* When tensors began to leave, a network_sending_t for each transfer; returns the number of bytes. */
uint32_t transfers_stamps(const void **stamps);

/* Steps. */
bool transfers_receive(const network_transfer_t *transfer);
bool transfers_send(const network_transfer_t *transfer);

/* Steps of a distributed network, in which the board computes while a tensor comes or leaves. */
bool transfers_grant(const network_transfer_t *transfer);
bool transfers_await(const network_transfer_t *transfer);
bool transfers_begin_send(const network_transfer_t *transfer);
bool transfers_await_sent(const network_transfer_t *transfer);

/* Parts of them, for transfers that are streamed: grants the memory of tensor `number`; queues the tensor of this
 * inference, of which `ready` bytes may leave, unless the run has ended; and the ends of waits.
 */
void transfers_accept(const network_transfer_t *transfer, uint32_t number);
bool transfers_queue(const network_transfer_t *transfer, uint32_t ready);
bool transfers_is_full(const void *transfer);
bool transfers_is_free(const void *transfer);

#endif
