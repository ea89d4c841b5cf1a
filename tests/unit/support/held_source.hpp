// SPDX-License-Identifier: BSL-1.0
// held_source: a source in whose call a thread can be held, and with it the lock under which it is called.
//
//   while_held<Source>(what the held thread does, what is done meanwhile)
//
// It stands for a thread that a child of fork() does not have. `refuses` makes every other call return null.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

namespace millpond::test {

template <class Upstream>
struct held_source : Upstream {
    static inline std::atomic<bool> is_held{false};
    static inline std::atomic<bool> is_inside{false};
    static inline std::atomic<bool> refuses{false};
    static inline thread_local bool may_be_held = false;

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (may_be_held && is_held) {
            is_inside = true;
            while (is_held) std::this_thread::yield();
        } else if (refuses) {
            return nullptr;
        }
        return Upstream::try_allocate(bytes, alignment);
    }
};

// Runs `work` while another thread, which runs `enter`, is inside the source.
template <class Source, class Enter, class Work>
void while_held(Enter enter, Work work) {
    Source::is_inside = false;
    Source::is_held = true;
    std::thread held([&enter] {
        Source::may_be_held = true;
        enter();
    });
    while (!Source::is_inside) std::this_thread::yield();
    work();
    Source::is_held = false;
    held.join();
}

}  // namespace millpond::test
