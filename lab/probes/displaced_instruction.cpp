// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/displaced_instruction.hpp"

#include <Zydis/Zydis.h>
#include <string.h>

#include "lab/probes/moved_instruction.hpp"

namespace millpond::probes {
namespace {

constexpr int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

std::uintptr_t value(const gregset_t& r, unsigned number) noexcept {
    return static_cast<std::uintptr_t>(r[registers[number]]);
}

// The condition of jcc: the low four bits of its code.
bool holds(unsigned condition, std::uint64_t flags) noexcept {
    const bool carry = (flags & 1) != 0, parity = (flags & 4) != 0, zero = (flags & 64) != 0;
    const bool sign = (flags & 128) != 0, overflow = (flags & 2048) != 0;
    const bool plain[] = {
        overflow, carry, zero, carry || zero, sign, parity, sign != overflow, zero || sign != overflow};
    return plain[condition >> 1] != ((condition & 1) != 0);
}

}  // namespace

// call *%rax, call *8(%rbx,%rcx,4), call *table(%rip).
bool displaced_instruction::take_call(const void* decoded, std::uintptr_t address) noexcept {
    const auto& i = *static_cast<const ZydisDecodedInstruction*>(decoded);
    constexpr ZyanU64 odd = ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS | ZYDIS_ATTRIB_HAS_ADDRESSSIZE;
    if (i.opcode != 0xff || i.raw.modrm.reg != 2 || (i.attributes & odd) != 0) return false;
    how_ = call_indirect;
    const unsigned extended_base = i.raw.rex.B != 0 ? 8u : 0u, extended_index = i.raw.rex.X != 0 ? 8u : 0u;
    if (i.raw.modrm.mod == 3) {
        base_ = static_cast<std::uint8_t>(i.raw.modrm.rm + extended_base);
        return true;
    }
    through_memory_ = true;
    displacement_ = i.raw.disp.value;
    if (needs_rip(i)) {
        displacement_ += static_cast<std::int64_t>(address + i.length);
    } else if (i.raw.modrm.rm == 4) {
        if (i.raw.sib.base != 5 || i.raw.modrm.mod != 0)
            base_ = static_cast<std::uint8_t>(i.raw.sib.base + extended_base);
        const unsigned index = i.raw.sib.index + extended_index;
        if (index != 4) index_ = static_cast<std::uint8_t>(index);
        scale_ = i.raw.sib.scale;
    } else {
        base_ = static_cast<std::uint8_t>(i.raw.modrm.rm + extended_base);
    }
    return true;
}

bool displaced_instruction::understand(const std::uint8_t* code, std::uintptr_t address, std::uintptr_t slot) noexcept {
    ZydisDecoder decoder;
    ZydisDecodedInstruction i;
    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code, code_max, &i)))
        return false;
    next_ = address + i.length;
    slot_ = slot;
    if (has_relative_target(i)) {
        target_ = next_ + static_cast<std::uintptr_t>(i.raw.imm[0].value.s);
        condition_ = i.opcode & 15;
        if (i.meta.category == ZYDIS_CATEGORY_CALL)
            how_ = call;
        else if (i.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
            how_ = jump;
        else if ((i.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (i.opcode & 0xf0) == 0x70) ||
                 (i.opcode_map == ZYDIS_OPCODE_MAP_0F && (i.opcode & 0xf0) == 0x80))
            how_ = jump_if;
        else
            return false;
        return true;
    }
    if (i.meta.category == ZYDIS_CATEGORY_CALL) return take_call(&i, address);
    if (i.meta.category == ZYDIS_CATEGORY_RET) {
        how_ = give_back;
        popped_ = i.raw.imm[0].size != 0 ? static_cast<std::uint16_t>(i.raw.imm[0].value.u) : 0;
        return i.opcode == 0xc3 || i.opcode == 0xc2;
    }
    if (i.meta.category == ZYDIS_CATEGORY_INTERRUPT) return false;
    memcpy(copy_, code, i.length);
    if (!correct_for_place(copy_, i, address, slot)) return false;
    const far_jump on(next_);
    memcpy(copy_ + i.length, on.bytes, sizeof on.bytes);
    return true;
}

std::uintptr_t displaced_instruction::operand_address(const gregset_t& r) const noexcept {
    auto at = static_cast<std::uintptr_t>(displacement_);
    if (base_ != none) at += value(r, base_);
    if (index_ != none) at += value(r, index_) << scale_;
    return at;
}

void displaced_instruction::run(ucontext_t* context) const noexcept {
    gregset_t& r = context->uc_mcontext.gregs;
    const auto go = [&](std::uintptr_t to) { r[REG_RIP] = static_cast<greg_t>(to); };
    const auto push = [&](std::uintptr_t word) {
        r[REG_RSP] -= 8;
        *reinterpret_cast<std::uintptr_t*>(r[REG_RSP]) = word;
    };
    switch (how_) {
        case copied:
            return go(slot_);
        case jump:
            return go(target_);
        case jump_if:
            return go(holds(condition_, static_cast<std::uint64_t>(r[REG_EFL])) ? target_ : next_);
        case call:
            push(next_);
            return go(target_);
        case call_indirect: {
            const std::uintptr_t to =
                through_memory_ ? *reinterpret_cast<const std::uintptr_t*>(operand_address(r)) : value(r, base_);
            push(next_);
            return go(to);
        }
        case give_back:
            go(*reinterpret_cast<const std::uintptr_t*>(r[REG_RSP]));
            r[REG_RSP] += 8 + popped_;
            return;
    }
}

}  // namespace millpond::probes
