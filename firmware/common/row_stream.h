/* Rows of a tensor that crosses a link while the layer that reads or computes it runs. Layers of streamed transfers
 * call these functions, at most once for each output row.
 */
#ifndef ROW_STREAM_H
#define ROW_STREAM_H

#include <stdint.h>

/* Waits until the first `rows` rows of the running layer's input, or all that there are, have been received, checked
 * and copied to their place. Returns at once after a failure or a command of the host.
 */
void row_stream_await(int32_t rows);

/* The first `rows` rows of the running layer's output are complete: they may leave. */
void row_stream_done(int32_t rows);

#endif
