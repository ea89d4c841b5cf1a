// SPDX-License-Identifier: BSL-1.0
// predicted_site: a call site whose blocks are expected to die soon; `millpond synthesize` writes a header of them.
//
//   48 bytes │ gawk + 0x2ea51 │ gawk + 0x30f12      the return addresses of malloc and of its callers, as offsets in
//                                                   their modules: the same in every run of the same build
//
// One frame is enough if all blocks of that caller and size die soon; otherwise the next frames tell, up to four
// (Barrett and Zorn 1993). Sizes are rounded up to 16. Modules are listed apart, by their file names.
//
// A list of sites is a type with static members `modules`, `sites` and `chunks`, the most chunks of the arena.
//
// Example:
//     constexpr std::array modules{"gawk"};
//     constexpr millpond::classic::predicted_site site{48, 1, {{{0, 0x2ea51}}}};
//     assert(site.bytes == 48 && site.frames[0].module < modules.size());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

struct predicted_frame {
    unsigned module;  // index into the modules
    std::uint64_t offset;
};

struct predicted_site {
    static constexpr unsigned most_frames = 4;

    std::size_t bytes;
    unsigned depth;  // number of frames, the innermost first
    std::array<predicted_frame, most_frames> frames;
};

}  // namespace millpond::inline MILLPOND_ABI::classic
