// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/entry_jump.hpp"

#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <string.h>

#include "lab/probes/code_memory.hpp"
#include "lab/probes/moved_instruction.hpp"
#include "preload/frame_rule.hpp"

namespace millpond::probes {
namespace {

constexpr std::uint8_t jump_code = 0xe9;
constexpr unsigned jump_bytes = 5, instruction_bytes_max = 15;
constexpr std::size_t function_bytes_max = std::size_t{1} << 20;

// The kind of vector arguments: eight registers of the widest kind that this machine and its kernel have.
enum class vectors : std::uint8_t { xmm, ymm, zmm };

vectors widest() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned saves_state = 1u << 27;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & saves_state) == 0) return vectors::xmm;
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    constexpr unsigned ymm_state = 0x6, zmm_state = 0xe6;
    if ((low & zmm_state) == zmm_state) return vectors::zmm;
    return (low & ymm_state) == ymm_state ? vectors::ymm : vectors::xmm;
}

// Code under construction, for one place.
class code_text {
  public:
    explicit code_text(std::uintptr_t at) noexcept : at_(at) {}

    template <class... Bytes>
    void add(Bytes... bytes) noexcept {
        const std::uint8_t all[] = {static_cast<std::uint8_t>(bytes)...};
        add_bytes(all, sizeof all);
    }
    void add_bytes(const void* bytes, std::size_t size) noexcept {
        if (size_ + size > sizeof bytes_) {
            is_whole_ = false;
            return;
        }
        memcpy(bytes_ + size_, bytes, size);
        size_ += size;
    }
    template <class Number>
    void add_number(Number number) noexcept {
        add_bytes(&number, sizeof number);
    }
    void jump_to(std::uintptr_t target) noexcept {
        const far_jump jump(target);
        add_bytes(jump.bytes, sizeof jump.bytes);
    }
    // Moves the eight vector registers from, or to, the bytes at the stack pointer.
    void move_vectors(vectors kind, bool to_memory) noexcept {
        for (unsigned i = 0; i < 8; ++i) {
            const std::uint8_t code = to_memory ? 0x11 : 0x10;
            const auto registers = static_cast<std::uint8_t>(0x84 | i << 3);  // i, with sib and a displacement
            if (kind == vectors::zmm)
                add(0x62, 0xf1, 0x7c, 0x48, code, registers, 0x24);  // vmovups
            else if (kind == vectors::ymm)
                add(0xc5, 0xfc, code, registers, 0x24);  // vmovups
            else
                add(0x0f, code, registers, 0x24);  // movups
            add_number(static_cast<std::int32_t>(i * bytes_of(kind)));
        }
    }
    static unsigned bytes_of(vectors kind) noexcept { return 16u << static_cast<unsigned>(kind); }

    [[nodiscard]] std::uintptr_t here() const noexcept { return at_ + size_; }
    [[nodiscard]] const std::uint8_t* bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }

  private:
    std::uintptr_t at_;
    std::size_t size_ = 0;
    bool is_whole_ = true;
    std::uint8_t bytes_[512] = {};
};

class decoder {
  public:
    bool start() noexcept {
        return ZYAN_SUCCESS(ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    }
    bool read(std::uintptr_t address, std::uintptr_t end, ZydisDecodedInstruction& to) const noexcept {
        const std::size_t left = end - address;
        return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, reinterpret_cast<const void*>(address),
                                                          left < instruction_bytes_max ? left : instruction_bytes_max,
                                                          &to));
    }

  private:
    ZydisDecoder decoder_;
};

// Returns whether the instruction does the same elsewhere, except for an address relative to rip.
bool can_move(const ZydisDecodedInstruction& i) noexcept {
    switch (i.meta.category) {
        case ZYDIS_CATEGORY_CALL:
        case ZYDIS_CATEGORY_RET:
        case ZYDIS_CATEGORY_COND_BR:
        case ZYDIS_CATEGORY_UNCOND_BR:
        case ZYDIS_CATEGORY_INTERRUPT:
        case ZYDIS_CATEGORY_SYSCALL:
        case ZYDIS_CATEGORY_SYSTEM:
            return false;
        default:
            return !has_relative_target(i);
    }
}

// Appends the instruction, corrected for its new place; false if an address does not reach that far.
bool move_to(code_text& to, const ZydisDecodedInstruction& i, std::uintptr_t address) noexcept {
    std::uint8_t bytes[instruction_bytes_max];
    memcpy(bytes, reinterpret_cast<const void*>(address), i.length);
    if (!correct_for_place(bytes, i, address, to.here())) return false;
    to.add_bytes(bytes, i.length);
    return true;
}

// Returns whether a branch of the function leads to one of its bytes between `first` and `last`.
bool leads_between(const decoder& decodes, std::uintptr_t entry, std::uintptr_t end, std::uintptr_t first,
                   std::uintptr_t last) noexcept {
    ZydisDecodedInstruction i;
    for (std::uintptr_t at = entry; at < end; at += i.length) {
        if (!decodes.read(at, end, i)) return true;  // data among the code: unknown
        if (!has_relative_target(i)) continue;
        const std::uintptr_t target = at + i.length + static_cast<std::uintptr_t>(i.raw.imm[0].value.s);
        if (target >= first && target < last) return true;
    }
    return false;
}

constexpr std::uint8_t pushes[] = {0x50, 0x51, 0x52, 0x56, 0x57, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53};
constexpr std::uint8_t pops[] = {0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5a, 0x59, 0x58};
constexpr int pushed_bytes = 9 * 8;  // rax, rcx, rdx, rsi, rdi, r8 to r11

// Appends: push …; tell; pop …. At an entry the stack pointer is 8 bytes off a multiple of 16, and after nine pushes on
// one.
void add_telling(code_text& to, unsigned number, entry_jump::listener told) noexcept {
    const vectors kind = widest();
    const auto room = static_cast<std::int32_t>(8 * code_text::bytes_of(kind));
    to.add_bytes(pushes, sizeof pushes);
    to.add(0x48, 0x8d, 0x74, 0x24, pushed_bytes);  // lea 72(%rsp), %rsi
    to.add(0x48, 0x81, 0xec);                      // sub $room, %rsp
    to.add_number(room);
    to.move_vectors(kind, true);
    to.add(0xbf);  // mov $number, %edi
    to.add_number(number);
    to.add(0x48, 0xb8);  // mov $told, %rax
    to.add_number(reinterpret_cast<std::uintptr_t>(told));
    to.add(0xff, 0xd0);  // call *%rax
    to.move_vectors(kind, false);
    to.add(0x48, 0x81, 0xc4);  // add $room, %rsp
    to.add_number(room);
    to.add_bytes(pops, sizeof pops);
}

}  // namespace

bool entry_jump::place(std::uintptr_t entry, const code_range& module, unsigned number, listener told) noexcept {
    const std::uintptr_t end = preload::frame_rule::end_of_function(entry);
    if (end == 0 || end > module.last || end - entry > function_bytes_max) return false;
    decoder decodes;
    if (!decodes.start()) return false;
    std::uintptr_t covered = entry;
    ZydisDecodedInstruction i;
    for (; covered < entry + jump_bytes; covered += i.length)
        if (covered >= end || !decodes.read(covered, end, i) || !can_move(i)) return false;
    if (leads_between(decodes, entry, end, entry + 1, covered)) return false;

    const std::uintptr_t place = code_memory::take(entry, module, 512);
    if (place == 0) return false;
    code_text code(place);
    add_telling(code, number, told);
    for (std::uintptr_t at = entry; at < covered; at += i.length)
        if (!decodes.read(at, end, i) || !move_to(code, i, at)) return false;
    code.jump_to(covered);
    if (!code.is_whole() || !code_memory::write(place, code.bytes(), code.size())) return false;

    std::uint8_t jump[jump_bytes] = {jump_code};
    const auto distance = static_cast<std::int32_t>(static_cast<std::int64_t>(place - (entry + jump_bytes)));
    memcpy(jump + 1, &distance, sizeof distance);
    return code_memory::write(entry, jump, sizeof jump);
}

bool entry_jump::is_in_place(std::uintptr_t entry) noexcept {
    return *reinterpret_cast<const volatile std::uint8_t*>(entry) == jump_code;
}

}  // namespace millpond::probes
