// SPDX-License-Identifier: BSL-1.0
#include "lab/attribution/footprints.hpp"

#include <algorithm>
#include <memory>

#include "lab/simulate/process_system.hpp"

namespace millpond::attribution {

footprints::footprints(layout::object_map& objects) : objects_(&objects) {}

footprint& footprints::own(std::uint32_t subject) {
    if (subject >= of_subject_.size()) {
        of_subject_.resize(subject + 1);
        lines_of_.resize(subject + 1);
    }
    std::unique_ptr<line_table>& lines = lines_of_[subject];
    if (!lines) lines = std::make_unique<line_table>(simulate::process_system);
    return of_subject_[subject];
}

// Returns whether the line holds touched bytes of one of the subject's objects.
bool footprints::holds(const layout::object_map::page& in, std::uint64_t line_address, std::uint32_t subject) const {
    const std::uint64_t touched = in.touched[line_address >> 6 & (layout::object_map::page::lines - 1)];
    for (unsigned granule = 0; touched != 0 && granule < 8; ++granule) {
        if ((touched >> (8 * granule) & 0xFF) == 0) continue;
        const std::uint32_t id = in.id_at(line_address + 8 * granule);
        if (id != layout::object_map::none && objects_->object(id).subject == subject) return true;
    }
    return false;
}

void footprints::touch_new(std::uint32_t id, std::uint64_t address, std::uint64_t bytes) {
    const layout::live_object& object = objects_->object(id);
    std::uint64_t left = std::min(bytes, object.address + object.bytes - address);
    footprint& f = own(object.subject);
    while (left > 0) {
        layout::object_map::page* const in = objects_->page_of(address);
        if (in == nullptr) return;
        const std::uint64_t offset = address & (line_bytes - 1), part = std::min(left, line_bytes - offset);
        std::uint64_t& touched = in->touched_at(address);
        const std::uint64_t fresh = bits_from(offset, part) & ~touched;
        if (fresh != 0) {
            const bool was_there = holds(*in, address - offset, object.subject);
            touched |= fresh;
            f.bytes_now += static_cast<std::uint64_t>(std::popcount(fresh));
            if (!was_there) {
                ++f.lines_now;
                std::uint8_t& known = (*lines_of_[object.subject])[address >> 6];
                f.lines_touched += known == 0;
                known = 1;
            }
            if (f.lines_now > f.lines) f.packed_bytes = 0;
            f.lines = std::max(f.lines, f.lines_now);
            if (f.lines_now == f.lines) f.packed_bytes = std::max(f.packed_bytes, f.bytes_now);
        }
        address += part;
        left -= part;
    }
}

void footprints::end(std::uint32_t id) {
    const std::uint32_t subject = objects_->object(id).subject;
    footprint& f = own(subject);
    objects_->end(id, [&](std::uint64_t line_address, layout::object_map::page& in, std::uint64_t bits) {
        std::uint64_t& touched = in.touched_at(line_address);
        const std::uint64_t gone = touched & bits;
        if (gone == 0) return;
        touched &= ~bits;
        f.bytes_now -= static_cast<std::uint64_t>(std::popcount(gone));
        f.lines_now -= !holds(in, line_address, subject);
    });
}

}  // namespace millpond::attribution
