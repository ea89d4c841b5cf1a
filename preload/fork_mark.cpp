// SPDX-License-Identifier: BSL-1.0
#include "preload/fork_mark.hpp"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

namespace millpond::preload {

constinit fork_mark::page fork_mark::page_{};

void fork_mark::set() noexcept {
    static constinit bool prepared = false;
    if (!prepared) {
        prepared = true;
        const int before = errno;
        madvise(&page_, sizeof page_, MADV_WIPEONFORK);  // inherited by children of children
        pthread_atfork(nullptr, nullptr, [] { __atomic_store_n(&page_.mark, 0, __ATOMIC_RELAXED); });
        errno = before;
    }
    __atomic_store_n(&page_.mark, 1, __ATOMIC_RELAXED);
}

}  // namespace millpond::preload
