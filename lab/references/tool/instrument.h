/* SPDX-License-Identifier: GPL-2.0-or-later
 * instrument: translates a superblock so that it writes its part of the stream when it runs.
 *
 * It adds: at the start a check for a full buffer, unless the next superblock certainly checks; for each distinct root
 * a store; at each exit a store of the exit's number and an advance of the cursor. Where a call of the allocator can
 * begin or end, it adds a call of calls.h. A superblock that is left by a fault has written nothing.
 *
 * A load and a store of the same bytes by one instruction are one access of kind modify. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_INSTRUMENT_H
#define MILLPOND_LAB_REFERENCES_TOOL_INSTRUMENT_H

#include "lab/references/tool/valgrind_headers.h"

IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* extents,
                 const VexArchInfo* host, IRType guest_word, IRType host_word);

/* From the next translation on code is translated as it is. */
void instrument_nothing(void);

#endif
