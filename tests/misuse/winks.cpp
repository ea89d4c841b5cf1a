// SPDX-License-Identifier: BSL-1.0
// Misuses of wink_out: objects that own memory outside the pool, and uses of a destroyed object.
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

const char* const long_text = "a text that is longer than the small buffer of any string";

// A class that wrongly states that it may be winked out.
struct owner_of_a_string {
    std::string text = long_text;
};

struct owner_of_an_object {
    std::unique_ptr<int> number = std::make_unique<int>(7);
};

struct holder_of_text {
    std::pmr::string text{long_text};  // winkable as a type, but this one was not given the pool
};

struct owner_elsewhere {
    explicit owner_elsewhere(multi& elsewhere) : numbers(100, 1, &elsewhere) {}
    std::vector<int, allocator<int, multi>> numbers;
};

}  // namespace
}  // namespace millpond::test

template <>
struct millpond::is_winkable<millpond::test::owner_of_a_string> : std::true_type {};
template <>
struct millpond::is_winkable<millpond::test::owner_of_an_object> : std::true_type {};
template <>
struct millpond::is_winkable<millpond::test::holder_of_text> : is_winkable<std::pmr::string> {};
template <>
struct millpond::is_winkable<millpond::test::owner_elsewhere> : std::true_type {};

namespace millpond::test {
namespace {

void owner_of_a_string_winked_out() {
    mono pool;
    const wink_out<owner_of_a_string, mono> owner(pool);
}

void vector_of_owners_winked_out() {
    multi pool;
    wink_out<std::vector<owner_of_an_object, allocator<owner_of_an_object, multi>>, multi> owners(pool);
    for (int i = 0; i < 10; ++i) owners->emplace_back();
}

void owner_of_another_pool_winked_out() {
    multi pool, elsewhere;
    const wink_out<owner_elsewhere, multi> owner(pool, elsewhere);
}

void pmr_text_of_the_default_resource_winked_out() {
    resource<mono> pool;
    const wink_out<holder_of_text, resource<mono>> owner(pool);
}

void object_used_after_its_drop() {
    resource<multi> pool;
    wink_out<std::pmr::vector<int>, resource<multi>> numbers(pool, 100u, 7);
    int* const last = hidden(&numbers->back());
    numbers.drop();
    poke(last, 0);
}

void block_overrun_before_its_owner_is_winked_out() {
    multi pool;
    wink_out<std::vector<char, allocator<char, multi>>, multi> text(pool, 100u, 'a');
    poke(hidden(text->data()), 100);
}

constexpr const char* leaked = "LeakSanitizer";
constexpr const char* lost = "definitely lost";
constexpr const char* poisoned = "AddressSanitizer: use-after-poison";
constexpr const char* invalid_write = "Invalid write of size 1";

constexpr program table[] = {
    {"owner_of_a_string_winked_out", owner_of_a_string_winked_out, "wink-out of an owner", leaked, lost},
    {"vector_of_owners_winked_out", vector_of_owners_winked_out, "wink-out of an owner", leaked, lost},
    {"owner_of_another_pool_winked_out", owner_of_another_pool_winked_out, "wink-out of an owner", nullptr, nullptr},
    {"pmr_text_of_the_default_resource_winked_out", pmr_text_of_the_default_resource_winked_out, "wink-out of an owner",
     leaked, lost},
    {"object_used_after_its_drop", object_used_after_its_drop, "use after free", poisoned, invalid_write},
    {"block_overrun_before_its_owner_is_winked_out", block_overrun_before_its_owner_is_winked_out, "overrun", poisoned,
     invalid_write},
};

}  // namespace

std::span<const program> wink_misuses() { return table; }

}  // namespace millpond::test
