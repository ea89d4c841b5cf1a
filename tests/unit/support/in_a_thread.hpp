// SPDX-License-Identifier: BSL-1.0
// in_a_thread: runs something in a thread of its own and waits until that thread has ended, thread-locals included.
#pragma once

#include <thread>

namespace millpond::test {

template <class Work>
void in_a_thread(Work work) {
    std::thread(work).join();
}

}  // namespace millpond::test
