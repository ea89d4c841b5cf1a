// SPDX-License-Identifier: BSL-1.0
// moved_instruction: corrects the bytes of a copied instruction for its new place, if it has an address relative to
// rip. Also the jump from there to any address. No lock, no allocation.
#pragma once

#include <Zydis/Zydis.h>
#include <string.h>

#include <cstdint>

namespace millpond::probes {

inline bool has_relative_target(const ZydisDecodedInstruction& i) noexcept {
    return i.raw.imm[0].size != 0 && i.raw.imm[0].is_relative != 0;
}

inline bool needs_rip(const ZydisDecodedInstruction& i) noexcept {
    return (i.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && i.raw.modrm.mod == 0 && i.raw.modrm.rm == 5;
}

// Corrects the copied `bytes` of the instruction at `from` for its place `to`; false if the address does not reach that
// far.
inline bool correct_for_place(std::uint8_t* bytes, const ZydisDecodedInstruction& i, std::uintptr_t from,
                              std::uintptr_t to) noexcept {
    if (!needs_rip(i)) return true;
    const std::int64_t moved = i.raw.disp.value + static_cast<std::int64_t>(from - to);
    if (i.raw.disp.size != 32 || moved != static_cast<std::int32_t>(moved)) return false;
    const auto stored = static_cast<std::int32_t>(moved);
    memcpy(bytes + i.raw.disp.offset, &stored, sizeof stored);
    return true;
}

// jmp *0(%rip), with the address behind it.
struct far_jump {
    std::uint8_t bytes[14] = {0xff, 0x25, 0, 0, 0, 0};

    explicit far_jump(std::uintptr_t target) noexcept { memcpy(bytes + 6, &target, sizeof target); }
};

}  // namespace millpond::probes
