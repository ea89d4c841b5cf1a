// SPDX-License-Identifier: BSL-1.0
// no_exceptions: built with -fno-exceptions -fno-rtti. A failed allocate calls the handler, or prints a message and
// aborts.
//
//   no_exceptions            ends by the handler below, with status 0
//   no_exceptions default    ends by the default handler: a line on standard error, and SIGABRT
#include <cstdlib>
#include <cstring>
#include <millpond/millpond.hpp>

int main(int argc, char** argv) {
    millpond::monotonic<> row;
    millpond::multipool<> pool;
    millpond::resource<millpond::multipool<>> base;
    pool.deallocate(pool.allocate(100, 8), 100, 8);
    if (row.allocate(100, 8) == nullptr || base.allocate(100, 8) == nullptr) return 1;
    if (pool.try_allocate(static_cast<std::size_t>(-1), 8) != nullptr) return 1;
    millpond::dyn_array<int> numbers(std::nothrow, 2);
    if (numbers.try_push_back(1) == nullptr || numbers.try_push_back(2) == nullptr) return 1;
    if (numbers.try_push_back(3) != nullptr || numbers.size() != 2 || numbers.try_reserve(3)) return 1;
    millpond::pooled_set<int> set, other;
    for (int i = 0; i < 100; ++i) set.insert(i), other.insert(i + 50);
    set.merge(other);
    set.insert(other.extract(other.begin()));
    set.wink();
    if (!set.empty() || other.size() != 49) return 1;
    if (argc < 2 || std::strcmp(argv[1], "default") != 0) {
        millpond::out_of_memory_handler = [](std::size_t bytes, std::size_t alignment) {
            std::_Exit(bytes == static_cast<std::size_t>(-1) && alignment == 8 ? 0 : 2);
        };
    }
    static_cast<void>(pool.allocate(static_cast<std::size_t>(-1), 8));
    return 3;
}
