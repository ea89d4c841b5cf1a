/* SPDX-License-Identifier: GPL-2.0-or-later
 * clock: the time of a captured process, which is the position in the stream: the number of words written so far. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_CLOCK_H
#define MILLPOND_LAB_REFERENCES_TOOL_CLOCK_H

#include "lab/references/tool/valgrind_headers.h"

ULong clock_now(void);

#endif
