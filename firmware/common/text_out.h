/* Text to the host, byte by byte as the UART takes it (host_bytes.h): numbers become digits when their turn comes, so
 * that a long answer needs no buffer. What finds no place in the queue is lost.
 *
 * To be called from the host's interrupt or with interrupts masked.
 */
#ifndef TEXT_OUT_H
#define TEXT_OUT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns part `index` of an answer, which stays valid until the next part is asked for; NULL after the last one. */
typedef const char *(*text_parts_t)(uint32_t index);

/* `text` must stay valid until it has left. */
void text_out(const char *text);
void text_out_number(uint32_t number);
void text_out_parts(text_parts_t parts);

/* The digits of a number with `places` digits behind its point, in at most TEXT_NUMBER_CHARS. */
enum { TEXT_NUMBER_CHARS = 24 };
const char *text_of_number(char *to, uint64_t number, uint32_t places);

#endif
