// SPDX-License-Identifier: BSL-1.0
#include "stacks.hpp"

#include <alloca.h>
#include <stdlib.h>

#include <cstring>

namespace millpond::test {
namespace {

struct journey {
    unsigned left;
    std::mt19937_64& numbers;
    const probe& at_bottom;
};
void next(journey& j);

// Prevents the compiler from turning the call before it into a jump, and from removing buffers.
void keep(const volatile void* p) { asm volatile("" : : "r"(p) : "memory"); }

[[gnu::noinline]] void hook(journey& j) {
    const auto site = preload::call_site::here();
    j.at_bottom(site);
    keep(&site);
}

[[gnu::noinline]] void plain(journey& j) {
    next(j);
    keep(&j);
}
[[gnu::noinline]] void large_frame(journey& j) {
    volatile char buffer[3000];
    buffer[0] = 1;
    next(j);
    keep(buffer);
}
[[gnu::noinline]] void variable_frame(journey& j) {
    auto* const buffer = static_cast<char*>(alloca(16 + j.numbers() % 500));
    buffer[0] = 1;
    next(j);
    keep(buffer);
}
[[gnu::noinline]] void realigned(journey& j) {
    alignas(256) volatile char buffer[256];
    buffer[0] = 1;
    next(j);
    keep(buffer);
}
[[gnu::noinline]] void realigned_variable(journey& j) {
    alignas(64) volatile char buffer[64];
    auto* const more = static_cast<char*>(alloca(1 + j.numbers() % 300));
    buffer[0] = more[0] = 1;
    next(j);
    keep(buffer);
    keep(more);
}
[[gnu::noinline]] void with_frame_pointer(journey& j) {
    keep(__builtin_frame_address(0));  // asks for one, whatever the options say
    next(j);
    keep(&j);
}
[[gnu::noinline]] void through_function_object(journey& j) {
    const std::function<void()> call = [&j] { next(j); };
    call();
    keep(&call);
}
thread_local journey* through_library_journey;
[[gnu::noinline]] void through_library(journey& j) {
    journey* const before = through_library_journey;
    through_library_journey = &j;
    int key = 1, one = 1;
    bsearch(&key, &one, 1, sizeof one, [](const void*, const void*) {
        next(*through_library_journey);
        return 0;
    });
    through_library_journey = before;
}
// Keeps a value in rbp that is no frame.
[[gnu::noinline]] void many_values(journey& j) {
    std::uint64_t v[8];
    for (auto& x : v) x = j.numbers();
    next(j);
    std::uint64_t sum = 0;
    for (const auto x : v) sum = sum * 31 + x;
    keep(&sum);
}

[[gnu::noinline]] void next(journey& j) {
    if (j.left == 0) {
        switch (j.numbers() % 3) {
            case 0:
                hook(j);
                break;
            case 1:
                hook(j);
                break;
            default:
                hook(j);
                break;
        }
        return;
    }
    --j.left;
    using step = void (*)(journey&);
    static constexpr step steps[] = {
        plain,       large_frame,        variable_frame,          realigned,      realigned_variable,
        many_values, with_frame_pointer, through_function_object, through_library};
    steps[j.numbers() % std::size(steps)](j);
    keep(&j);
}

}  // namespace

void descend(unsigned depth, std::mt19937_64& numbers, const probe& at_bottom) {
    journey j{depth, numbers, at_bottom};
    next(j);
    keep(&j);
}

}  // namespace millpond::test
