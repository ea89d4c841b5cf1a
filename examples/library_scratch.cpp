// SPDX-License-Identifier: BSL-1.0
// library_scratch: temporary memory for each line of a job, on the stack as long as that is enough.
//
// A rewind_scope frees everything that was allocated in it, and the next line uses the same memory again.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string_view>
#include <vector>

int main() {
    using pool_type = millpond::monotonic<>;
    alignas(16) std::array<char, 4096> stack;
    millpond::resource<pool_type> scratch(millpond::initial_buffer{stack.data(), stack.size()});

    std::size_t longest = 0;
    for (const std::string_view line : {"one two three", "a b c d e", "", "grist for the mill"}) {
        millpond::rewind_scope scope(scratch.target());
        std::pmr::vector<std::string_view> words(&scratch);
        for (std::size_t start = 0; start < line.size();) {
            const std::size_t end = std::min(line.find(' ', start), line.size());
            words.push_back(line.substr(start, end - start));
            start = end + 1;
        }
        longest = std::max(longest, words.size());
    }
    std::printf("at most %zu words a line, %zu bytes taken from the heap\n", longest, scratch.target().held_bytes());
    return longest == 5 && scratch.target().held_bytes() == 0 ? 0 : 1;
}
