// SPDX-License-Identifier: BSL-1.0
#include "preload/fork_mark.hpp"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

namespace millpond::preload {

constinit fork_mark::page fork_mark::page_{};
constinit int fork_mark::last_number_ = claimed;

// Runs once in a process; its forked children inherit the page and the handler.
void fork_mark::prepare() noexcept {
    static constinit bool prepared = false;
    if (prepared) return;
    prepared = true;
    const int before = errno;
    madvise(&page_, sizeof page_, MADV_WIPEONFORK);
    pthread_atfork(nullptr, nullptr, [] { __atomic_store_n(&page_.mark, int{unmarked}, __ATOMIC_RELAXED); });
    errno = before;
}

bool fork_mark::claim() noexcept {
    int seen = unmarked;
    if (!__atomic_compare_exchange_n(&page_.mark, &seen, int{claimed}, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    prepare();
    return true;
}

void fork_mark::set() noexcept {
    prepare();
    __atomic_store_n(&page_.mark, ++last_number_, __ATOMIC_RELEASE);
}

}  // namespace millpond::preload
