// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/running_scopes.hpp"

#include <stdlib.h>
#include <sys/resource.h>

#include "preload/pages.hpp"
#include "preload/system.hpp"

extern "C" void* __libc_stack_end;  // of the main thread; in the dynamic linker

namespace millpond::probes {
namespace {

constexpr std::size_t memory_bytes = sizeof(running_scope) * running_scopes::depth_max;

std::uintptr_t thread_pointer() noexcept {
    std::uintptr_t self;
    __asm__("mov %%fs:0x10, %0" : "=r"(self));
    return self;
}

// Returns the first address of the mapping that holds `address`, read with `text` as a buffer; 0 if it is not found.
std::uintptr_t mapping_of(std::uintptr_t address, char* text, std::size_t room) noexcept {
    const preload::file maps("/proc/self/maps", O_RDONLY);
    std::size_t kept = 0;
    for (;;) {
        const std::size_t size = kept + maps.read(text + kept, room - 1 - kept);
        text[size] = 0;
        char* line = text;
        for (char* at = text; at < text + size; ++at) {
            if (*at != '\n') continue;
            char* dash = nullptr;
            const std::uintptr_t first = strtoull(line, &dash, 16), last = strtoull(dash + 1, nullptr, 16);
            if (address >= first && address < last) return first;
            line = at + 1;
        }
        if (size == kept || line == text) return 0;
        kept = static_cast<std::size_t>(text + size - line);
        for (std::size_t i = 0; i < kept; ++i) text[i] = line[i];
    }
}

}  // namespace

// The main thread's stack grows downward to its limit. Another thread's lies below its control block, in a mapping that
// a guard page ends.
bool running_scopes::find_bounds() noexcept {
    if (preload::system_call(SYS_gettid) == preload::system_call(SYS_getpid)) {
        constexpr std::uintptr_t unlimited = std::uintptr_t{1} << 36;
        rlimit limit{};
        preload::system_call(SYS_prlimit64, 0, RLIMIT_STACK, nullptr, &limit);
        const auto top = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
        stack_first_ = top - (limit.rlim_cur < unlimited ? limit.rlim_cur : unlimited);
        stack_last_ = top;
        return true;
    }
    stack_last_ = thread_pointer();
    constexpr std::size_t text_bytes = std::size_t{64} << 10;  // the memory of activations, not used yet
    stack_first_ = mapping_of(stack_last_ - 1, reinterpret_cast<char*>(stack_), text_bytes);
    return stack_first_ != 0;
}

bool running_scopes::begin() noexcept {
    if (stack_ != nullptr) return true;
    stack_ = preload::take_pages<running_scope>(memory_bytes);
    depth_ = 0;
    if (stack_ == nullptr) return false;
    if (find_bounds()) return true;
    end();
    return false;
}

void running_scopes::end() noexcept {
    preload::give_pages(stack_, memory_bytes);
    stack_ = nullptr;
    depth_ = 0;
}

}  // namespace millpond::probes
