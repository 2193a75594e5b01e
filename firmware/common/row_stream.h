/* Streamed transfers: rows of a tensor cross a link while the layer that reads or computes it runs.
 *
 * Compiled only where a step of the board streams. A RECEIVE that is streamed waits for nothing; the layer after it
 * waits for the rows that it needs, row by row. A layer whose output is streamed gives each row away when it is
 * complete; the SEND after it only ends that.
 */
#ifndef ROW_STREAM_H
#define ROW_STREAM_H

#include <stdint.h>

#include "network_links.h"

/* The streamed input and output of a layer, NULL if there is none, and the bytes of one of their rows; generated. */
typedef struct {
  const network_transfer_t *input;
  const network_transfer_t *output;
  uint32_t in_row_bytes;
  uint32_t out_row_bytes;
} row_stream_t;

/* Steps, in place of transfers_receive and transfers_send. */
bool row_stream_receive(const network_transfer_t *transfer);
bool row_stream_send(const network_transfer_t *transfer);

/* Event of the links, in place of transfers_on_event. */
void row_stream_on_event(link_t *link, link_event_t event, uint8_t channel, uint32_t detail);

/* Around a layer. */
void row_stream_begin(const row_stream_t *stream);
void row_stream_end(void);

/* Called by layers, at most once for each output row. */

/* Waits until the first `rows` rows of the input, or all that there are, have been received, checked and copied to
 * their place. Returns at once when the run has ended.
 */
void row_stream_await(int32_t rows);

/* The first `rows` rows of the output are complete: they may leave. */
void row_stream_done(int32_t rows);

#endif
