// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/breakpoints.hpp"

#include <string.h>

#include <new>

#include "lab/probes/code_memory.hpp"
#include "preload/pages.hpp"
#include "preload/spin_lock.hpp"

namespace millpond::probes {
namespace {

constexpr std::size_t places = std::size_t{1} << 14;
constexpr std::uint8_t trap = 0xcc;

breakpoint* table = nullptr;
std::size_t count = 0;
constinit preload::spin_lock lock;

bool stands_at(std::uintptr_t address) noexcept {
    return *reinterpret_cast<const volatile std::uint8_t*>(address) == trap;
}

// Returns the program's byte of code, whether or not a breakpoint of ours covers it.
std::uint8_t code_at(std::uintptr_t address) noexcept {
    const std::uint8_t now = *reinterpret_cast<const volatile std::uint8_t*>(address);
    const breakpoint* const covers = now == trap ? breakpoints::find(address) : nullptr;
    return covers != nullptr ? covers->original : now;
}

}  // namespace

bool breakpoints::start() noexcept {
    table = preload::take_pages<breakpoint>(sizeof(breakpoint) * places);
    return table != nullptr;
}

void breakpoints::adopt() noexcept {
    new (&lock) preload::spin_lock();
    code_memory::adopt();
}

breakpoint* breakpoints::find(std::uintptr_t address) noexcept {
    if (table == nullptr) return nullptr;
    for (std::size_t i = address * 0x9E3779B97F4A7C15u >> 50;; ++i) {
        breakpoint& p = table[i & (places - 1)];
        const std::uintptr_t seen = __atomic_load_n(&p.address, __ATOMIC_ACQUIRE);
        if (seen == address) return &p;
        if (seen == 0) return nullptr;
    }
}

bool breakpoints::is_return_site(std::uintptr_t address, std::uintptr_t module_first) noexcept {
    if (address >= module_first + 5 && code_at(address - 5) == 0xe8) return true;
    for (unsigned bytes = 2; bytes <= 7 && address >= module_first + bytes; ++bytes)
        if (code_at(address - bytes) == 0xff && (code_at(address - bytes + 1) >> 3 & 7) == 2) return true;
    static constexpr std::uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};  // rt_sigreturn
    for (unsigned i = 0; i < sizeof restorer; ++i)
        if (code_at(address + i) != restorer[i]) return false;
    return true;
}

bool breakpoints::place(std::uintptr_t address, const code_range& module, unsigned role, unsigned number) noexcept {
    const preload::spin_guard guard(lock);
    if (breakpoint* const known = find(address)) {
        if ((role & breakpoint::is_entry) != 0) known->number = static_cast<std::uint16_t>(number);
        if ((role & breakpoint::is_return) != 0) {
            const bool is_only = known->returns_of == breakpoint::none || known->returns_of == number;
            known->returns_of = is_only ? static_cast<std::uint16_t>(number) : breakpoint::several;
        }
        __atomic_or_fetch(&known->roles, static_cast<std::uint8_t>(role), __ATOMIC_RELEASE);
        return stands_at(address) || code_memory::write(address, &trap, 1);
    }
    if (2 * count >= places || address < module.first || address >= module.last) return false;
    std::uint8_t code[displaced_instruction::code_max] = {};
    const std::size_t left = module.last - address;
    memcpy(code, reinterpret_cast<const void*>(address), left < sizeof code ? left : sizeof code);
    if (code[0] == trap) return false;  // a debugger's
    const std::uintptr_t slot = code_memory::take(address, module, displaced_instruction::slot_bytes);
    displaced_instruction instruction;
    if (slot == 0 || !instruction.understand(code, address, slot)) return false;
    if (instruction.needs_copy() && !code_memory::write(slot, instruction.copy(), displaced_instruction::slot_bytes))
        return false;
    std::size_t i = address * 0x9E3779B97F4A7C15u >> 50;
    while (table[i & (places - 1)].address != 0) ++i;
    breakpoint& p = table[i & (places - 1)];
    p.original = code[0];
    p.roles = static_cast<std::uint8_t>(role);
    p.number = static_cast<std::uint16_t>(number);
    p.returns_of = (role & breakpoint::is_return) != 0 ? static_cast<std::uint16_t>(number) : breakpoint::none;
    p.instruction = instruction;
    __atomic_store_n(&p.address, address, __ATOMIC_RELEASE);
    ++count;
    return code_memory::write(address, &trap, 1);
}

// Another thread may be writing it.
bool breakpoints::is_in_place(std::uintptr_t address) noexcept {
    if (stands_at(address)) return true;
    const preload::spin_guard guard(lock);
    return stands_at(address);
}

void breakpoints::remove_entry(std::uintptr_t address) noexcept {
    const preload::spin_guard guard(lock);
    const breakpoint* const p = find(address);
    if (p != nullptr && (p->roles & ~breakpoint::is_entry) == 0) code_memory::write(address, &p->original, 1);
}

void breakpoints::remove_return(std::uintptr_t address, unsigned number) noexcept {
    const preload::spin_guard guard(lock);
    breakpoint* const p = find(address);
    if (p == nullptr || p->returns_of != number) return;
    p->returns_of = breakpoint::none;
    if (__atomic_and_fetch(&p->roles, static_cast<std::uint8_t>(~breakpoint::is_return), __ATOMIC_ACQ_REL) == 0)
        code_memory::write(address, &p->original, 1);
}

void breakpoints::remove_all() noexcept {
    const preload::spin_guard guard(lock);
    for (std::size_t i = 0; i < places; ++i)
        if (table[i].address != 0) code_memory::write(table[i].address, &table[i].original, 1);
}

}  // namespace millpond::probes
