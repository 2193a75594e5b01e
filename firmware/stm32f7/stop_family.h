#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include "stop_f4_f7.h"

#endif
