// SPDX-License-Identifier: BSL-1.0
// early: objects that come and go before main, some before every constructor of any library, and after main has
// returned.

#include "marked.hpp"

namespace {

void* before_everything = nullptr;
void* from_constructor = nullptr;

void first_of_all(int, char**, char**) { before_everything = marked::allocate(1); }

// Runs before the constructors of every shared library, preloaded ones included.
[[gnu::section(".preinit_array"), gnu::used]] void (*const at_start)(int, char**, char**) = first_of_all;

[[gnu::constructor(101)]] void construct() {
    from_constructor = marked::allocate(2);
    for (unsigned long i = 0; i < 100; ++i) marked::pass(i);
}

[[gnu::destructor(101)]] void destroy() {
    for (unsigned long i = 0; i < 100; ++i) marked::pass(i);
    marked::release(from_constructor);
    marked::say();
}

}  // namespace

int main() {
    marked::release(before_everything);
    return 0;
}
