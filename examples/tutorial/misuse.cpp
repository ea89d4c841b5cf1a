// SPDX-License-Identifier: BSL-1.0
// misuse: returns a string that outlives its arena. Checked mode reports it; do not copy it.
//
// The planted mistake of docs/tutorial/local_allocator.md.
#include <cstdio>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <string_view>

using arena = millpond::resource<millpond::in_mode<millpond::monotonic<>>>;

std::pmr::string first_word(std::string_view text) {
    arena memory;
    return std::pmr::string(text.substr(0, text.find(' ')), &memory);  // wrong: it returns memory of the arena
}

int main() {
    const std::pmr::string word = first_word("an-inconveniently-long-word that outlives its arena");
    std::printf("%s\n", word.c_str());
}
