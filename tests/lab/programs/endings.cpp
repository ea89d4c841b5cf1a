// SPDX-License-Identifier: BSL-1.0
// endings: N objects come and go, then the process ends in the way that MODE names. Usage: endings MODE [N]
//
// return, exit, quick_exit, _exit, abort, segfault, kill (SIGKILL to itself), terminate (an uncaught exception), atexit
// (objects come and go in exit handlers), hang_up (SIGHUP with its default action)

#include <sys/mman.h>

#include <csignal>
#include <stdexcept>
#include <string_view>

#include "marked.hpp"

namespace {

void pass_and_say() {
    for (unsigned long i = 0; i < 50; ++i) marked::pass(i);
    marked::say();
}

[[gnu::noinline]] void touch_nothing() {
    // A page of which nothing may be touched; a null pointer would be a finding of the compiler instead.
    auto* const forbidden =
        static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    forbidden[0] = 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "return";
    const unsigned long count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
    for (unsigned long i = 0; i < count; ++i) marked::pass(i);
    void* const kept = marked::allocate(count);
    if (mode == "atexit") {
        std::atexit(pass_and_say);
        std::exit(3);
    }
    marked::say();
    if (mode == "exit") std::exit(4);
    if (mode == "quick_exit") std::quick_exit(5);
    if (mode == "_exit") _exit(6);
    if (mode == "abort") std::abort();
    if (mode == "segfault") touch_nothing();
    if (mode == "kill") kill(getpid(), SIGKILL);
    if (mode == "hang_up") raise(SIGHUP);
    if (mode == "terminate") throw std::runtime_error("never caught");
    marked::written(kept, marked::bytes(count));
    return 0;
}
