/* SPDX-License-Identifier: GPL-2.0-or-later
 * tool: the functions by which the core ends a capture. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_TOOL_H
#define MILLPOND_LAB_REFERENCES_TOOL_TOOL_H

#include "lab/references/tool/valgrind_headers.h"

/* Valgrind gives up: what has been captured is written, and says why there is no more. */
void tool_stop(const HChar* why);
/* The program dies of it, unless it handles the signal. */
void tool_meets_unknown_instruction(void);

#endif
