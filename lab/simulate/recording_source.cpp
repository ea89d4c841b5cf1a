// SPDX-License-Identifier: BSL-1.0
#include "lab/simulate/recording_source.hpp"

#include <unistd.h>

#include <cstdint>

#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/trace/format.h"

namespace millpond::simulate {

bool is_recording(const std::string& path) {
    std::uint32_t magic = 0;
    ssize_t got = 0;
    try {
        const int file = program::open_regular(path.c_str());
        got = ::read(file, &magic, sizeof magic);
        ::close(file);
    } catch (const program::failure&) {
        return false;  // whoever reads it as text says why it cannot be read
    }
    return got == sizeof magic && magic == mpt_frame_magic;
}

recording_source::recording_source(const std::string& path, bool with_system, const std::string& played) {
    const references::reader_options options{.with_system = with_system};
    if (played.empty())
        reader_ = std::make_unique<references::reader>(path, options);
    else
        moved_ = std::make_unique<layout::moved_reader>(path, played, options);
}

const char* recording_source::format_name() const { return "recording"; }

bool recording_source::next(reference_batch& batch) {
    references::step step;
    batch = {};
    if (!(moved_ ? moved_->next(step) : reader_->next(step))) return false;
    batch.references = step.references.data();
    batch.count = step.references.size();
    batch.instructions = step.instructions;
    batch.in_allocator = step.in_allocator;
    if (step.event.record == millpond_record_gap) batch.skipped = step.event.operands[0];
    return true;
}

}  // namespace millpond::simulate
