// SPDX-License-Identifier: BSL-1.0
// phase_notes: the notes of one mark of a phase: its name in words of 8 bytes, then the note that counts.
//
//   "load balance" ─▶ name "load bal" │ name "ance" │ phase 12
#pragma once

#include <string.h>

#include <cstddef>
#include <cstdint>

#include "lab/trace/format.h"

namespace millpond::record {

// Calls write(subject, value) for each note. The name's bytes after the first mpt_phase_name_max are dropped.
template <class Write>
void write_phase(const char* name, std::size_t bytes, const Write& write) {
    if (bytes > mpt_phase_name_max) bytes = mpt_phase_name_max;
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        memcpy(&word, name + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        write(mpt_note_name, word);
    }
    write(mpt_note_phase, bytes);
}

}  // namespace millpond::record
