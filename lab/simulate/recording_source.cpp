// SPDX-License-Identifier: BSL-1.0
#include "lab/simulate/recording_source.hpp"

#include <unistd.h>

#include <cstdint>

#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/trace/block_file.hpp"
#include "lab/trace/format.h"
#include "lab/trace/wholeness.hpp"

namespace millpond::simulate {

bool is_recording(const std::string& path) {
    constexpr off_t trailer_bytes = 16;
    std::uint32_t magic = 0, trailer = 0;
    try {
        const int file = program::open_regular(path.c_str());
        const off_t bytes = ::lseek(file, 0, SEEK_END);
        trace::read_at(file, 0, &magic, sizeof magic);
        if (bytes >= trailer_bytes)  // a recording with a damaged beginning is not text either
            trace::read_at(file, static_cast<std::uint64_t>(bytes - trailer_bytes), &trailer, sizeof trailer);
        ::close(file);
    } catch (const program::failure&) {
        return false;  // the text reader then says why the file cannot be read
    }
    return magic == std::uint32_t{mpt_frame_magic} || trailer == std::uint32_t{mpt_trailer_magic};
}

recording_source::recording_source(const std::string& path, bool with_system, const std::string& played) : path_(path) {
    const references::reader_options options{.with_system = with_system};
    if (played.empty())
        reader_ = std::make_unique<references::reader>(path, options);
    else
        moved_ = std::make_unique<layout::moved_reader>(path, played, options);
}

std::vector<trace::damage> recording_source::damages(bool accepts) const {
    const std::vector<trace::damage>& found = moved_ ? moved_->recorded().damages() : reader_->damages();
    trace::require_whole(path_, found, accepts);
    if (moved_) moved_->require_whole_play();
    return found;
}

std::string recording_source::partial() const {
    return trace::partial_reason((moved_ ? moved_->recorded() : *reader_).trace().process());
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
