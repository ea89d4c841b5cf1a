// SPDX-License-Identifier: BSL-1.0
// consumer: what a user of the installed package writes: both bindings over one allocator, nothing left behind.
#include <cstdlib>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <vector>

int main() {
    millpond::multipool<> pool;
    std::vector<int, millpond::allocator<int, millpond::multipool<>>> by_type(&pool);
    millpond::resource<millpond::multipool<>&> base(pool);
    std::pmr::vector<std::pmr::string> by_base(&base);
    for (int i = 0; i < 1000; ++i) {
        by_type.push_back(i);
        by_base.emplace_back(100, 'x');
    }
    return by_type.back() == 999 && by_base.back().size() == 100 ? EXIT_SUCCESS : EXIT_FAILURE;
}
