/* SPDX-License-Identifier: BSL-1.0
 * seal: closes a raw block, so that it is a whole block of a trace: lengths, count, checksum.
 *
 *   mpt_open_block ─▶ mpt_write_… ─▶ mpt_full? ─▶ mpt_seal_block ─▶ write(fd, block, mpt_header_bytes + stored_bytes)
 *
 * C11 without allocation; XXH3 is compiled in. O(bytes), about 0.1 ns a byte. */
#ifndef MILLPOND_LAB_TRACE_SEAL_H
#define MILLPOND_LAB_TRACE_SEAL_H

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include "lab/trace/format.h"

/* The checksum of a block: its header (the checksum field taken as zero), then `stored_bytes` of payload as stored. */
static inline uint64_t mpt_checksum(mpt_block_header header, const void* stored) {
    XXH3_state_t state;
    header.checksum = 0;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &header, mpt_header_bytes);
    XXH3_64bits_update(&state, stored, header.stored_bytes);
    return XXH3_64bits_digest(&state);
}

/* Closes a raw block whose `stored_bytes` is right: sets the other lengths, `count` and the checksum. The caller has
 * set `cpu_ns` and `overhead_ticks`. Returns the bytes to write. */
static inline uint32_t mpt_seal_block(mpt_block_header* block, uint32_t count) {
    block->frame_bytes = mpt_header_bytes - mpt_frame_prefix_bytes + block->stored_bytes;
    block->payload_bytes = block->stored_bytes;
    block->count = count;
    block->checksum = 0;
    block->checksum = XXH3_64bits(block, mpt_header_bytes + (size_t)block->stored_bytes);
    return mpt_header_bytes + block->stored_bytes;
}

#endif
