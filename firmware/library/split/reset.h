/* In a library: why the board was reset is not known. */
#ifndef RESET_H
#define RESET_H

enum { reset_cause = 0 };

#endif
