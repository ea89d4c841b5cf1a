// SPDX-License-Identifier: BSL-1.0
// system_thread: a thread that is started and joined by hand, in memory that may have been zero.
//
// std::thread allocates its state from the malloc under test; this does not. Throws failure (status 4) where the
// system starts no more threads.
#pragma once

#include <pthread.h>

#include <cstring>
#include <string>

#include "lab/program/program.hpp"

namespace millpond::replay {

class system_thread {
  public:
    void start(void* (*run)(void*), void* argument) {
        const int error = ::pthread_create(&thread_, nullptr, run, argument);
        if (error != 0)
            throw program::failure(program::environment, std::string("cannot start a thread: ") + std::strerror(error));
    }
    void join() { ::pthread_join(thread_, nullptr); }

  private:
    pthread_t thread_;
};

}  // namespace millpond::replay
