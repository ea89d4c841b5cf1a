// SPDX-License-Identifier: BSL-1.0
// consumer: a program of a user of the installed package. It uses both bindings over one allocator and checks that
// nothing stays allocated. The build passes the expected mode (checked, hardened, …).
#include <millpond/phase.h>
#include <cstdlib>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

#if defined(MILLPOND_CHECKED)
constexpr std::string_view mode = "checked";
#elif defined(MILLPOND_HARDENED)
constexpr std::string_view mode = "hardened";
#else
constexpr std::string_view mode = "release";
#endif

}  // namespace

int main(int count, char** arguments) {
    if (count == 2 && mode != arguments[1]) return EXIT_FAILURE;
    millpond_phase("fill");  // no recorder: no effect
    millpond::multipool<> pool;
    std::vector<int, millpond::allocator<int, millpond::multipool<>>> by_type(&pool);
    millpond::resource<millpond::multipool<>&> base(pool);
    std::pmr::vector<std::pmr::string> by_base(&base);
    for (int i = 0; i < 1000; ++i) {
        by_type.push_back(i);
        by_base.emplace_back(100, 'x');
    }
    millpond::dyn_array<int> array;
    array.push_back(7);
    return array.back() == 7 && by_type.back() == 999 && by_base.back().size() == 100 ? EXIT_SUCCESS : EXIT_FAILURE;
}
