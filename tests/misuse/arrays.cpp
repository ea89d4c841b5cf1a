// SPDX-License-Identifier: BSL-1.0
// Misuses of containers that own their memory.
#include <string>

#include "misuses.hpp"

namespace millpond::test {
namespace {

dyn_array<char> letters(int count) {
    dyn_array<char> made(1000);
    for (int i = 0; i < count; ++i) made.push_back('a');
    return made;
}

void array_written_behind_its_end() {
    dyn_array<char> text = letters(24);
    poke(hidden(text.data()), 24);
}

void array_read_behind_its_end() {
    const dyn_array<char> text = letters(24);
    const volatile char* const letter = hidden(text.data());
    if (letter[24] == 'x') std::abort();
}

void array_written_behind_its_reserved_memory() {
    dyn_array<char> text = letters(24);
    text.reserve(500);
    poke(hidden(text.data()), 400);
}

void element_used_after_it_was_popped() {
    dyn_array<char> text = letters(24);
    char* const last = hidden(&text.back());
    text.pop_back();
    poke(last, 0);
}

void element_used_after_its_erasure_moved_the_rest() {
    dyn_array<std::string> texts(10, commit_steps{.first = 0});
    for (int i = 0; i < 4; ++i) texts.emplace_back("a text");
    std::string* const last = hidden(&texts.back());
    texts.erase(texts.begin());
    poke(last, 0);
}

void element_used_after_clear() {
    dyn_array<char> text = letters(24);
    char* const first = hidden(text.data());
    text.clear();
    poke(first, 0);
}

void element_used_after_its_array_shrank() {
    dyn_array<char> text(std::size_t{1} << 20);
    text.resize(100'000);
    char* const gone = hidden(&text[10]);
    text.resize(8);
    text.shrink_to_fit();
    poke(gone, 0);
}

constexpr const char* poisoned = "AddressSanitizer: use-after-poison";
constexpr const char* invalid_write = "Invalid write of size 1";

constexpr program table[] = {
    {"array_written_behind_its_end", array_written_behind_its_end, "overrun", poisoned, invalid_write},
    {"array_read_behind_its_end", array_read_behind_its_end, nullptr, poisoned, "Invalid read of size 1"},
    {"array_written_behind_its_reserved_memory", array_written_behind_its_reserved_memory, "overrun", poisoned,
     invalid_write},
    {"element_used_after_it_was_popped", element_used_after_it_was_popped, "use after free", poisoned, invalid_write},
    {"element_used_after_its_erasure_moved_the_rest", element_used_after_its_erasure_moved_the_rest, "use after free",
     poisoned, invalid_write},
    {"element_used_after_clear", element_used_after_clear, "use after free", poisoned, invalid_write},
    {"element_used_after_its_array_shrank", element_used_after_its_array_shrank, "use after free", poisoned,
     invalid_write},
};

}  // namespace

std::span<const program> array_misuses() { return table; }

}  // namespace millpond::test
