// SPDX-License-Identifier: BSL-1.0
// page_surveyor: the bytes of live objects, and those of the pages that they touch, at a moment of a replay.
//
//   slots ─▶ addresses and sizes of what lives ─▶ first and last pages, sorted, each once; those between are its own
//
// Diffusion is page_bytes / live_bytes. note(): O(1). survey(): O(slots · log slots). Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lab/replay/page_array.hpp"
#include "lab/replay/play.hpp"
#include "lab/replay/script.hpp"

namespace millpond::replay {

class page_surveyor {
  public:
    static constexpr std::uint64_t page_bytes = 4096;

    explicit page_surveyor(std::size_t slots) : bytes_(slots + 1), pages_(2 * slots + 2) {}

    void note(const record& r) {
        if (r.op() == operation::allocate || r.op() == operation::resize_to) bytes_[r.slot()] = r.bytes() + 1;
        if (r.op() == operation::free || r.op() == operation::drop) bytes_[r.slot()] = 0;
    }

    diffusion_point survey(void* const* slots) {
        diffusion_point point{};
        std::size_t edges = 0;
        std::uint64_t inside = 0;
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            if (bytes_[i] <= 1) continue;
            const std::uint64_t bytes = bytes_[i] - 1;
            const auto address = reinterpret_cast<std::uintptr_t>(slots[i]);
            const std::uint64_t first = address / page_bytes, last = (address + bytes - 1) / page_bytes;
            point.live_bytes += bytes;
            pages_[edges++] = first;
            if (last == first) continue;
            pages_[edges++] = last;
            inside += last - first - 1;  // pages inside an object are shared with nobody
        }
        std::sort(pages_.data(), pages_.data() + edges);
        const auto distinct = std::unique(pages_.data(), pages_.data() + edges) - pages_.data();
        point.page_bytes = (static_cast<std::uint64_t>(distinct) + inside) * page_bytes;
        return point;
    }

  private:
    page_array<std::uint64_t> bytes_;  // by slot, and one more, so that 0 is nothing
    page_array<std::uint64_t> pages_;
};

}  // namespace millpond::replay
