// SPDX-License-Identifier: BSL-1.0
// unique_characters: the strings, pools and buffers for counting the different characters of a string with a fresh set.
//
//   character_strings ── string, string, … again and again   with_fresh_pool<C>(f) ── f(pool), then the pool is gone
//   10 240 bytes of stack │node│node│node│…      contenders that have in_buffer begin there
//
// After the talk "Understanding Allocator Impact on Runtime Performance". The strings are drawn before anything is
// measured, the same for all contenders.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include "hidden.hpp"
#include "random_numbers.hpp"

namespace millpond::suites {

// Strings of one length, of any of the 256 characters: 65 536 characters in all, or one longer string.
class character_strings {
  public:
    character_strings(std::uint64_t length, std::uint64_t seed)
        : length_(length), characters_(length * std::max<std::uint64_t>(1, all_characters / length)) {
        random_numbers random(seed);
        for (char& c : characters_) c = static_cast<char>(random.below(256));
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return characters_.size() / length_; }
    [[nodiscard]] std::string_view operator[](std::uint64_t i) const noexcept {
        return {characters_.data() + i * length_, length_};
    }

  private:
    static constexpr std::uint64_t all_characters = std::uint64_t{1} << 16;

    std::uint64_t length_;
    std::vector<char> characters_;
};

// Room for 256 nodes of 40 bytes: a set of all characters.
inline constexpr std::size_t stack_buffer_bytes = 10240;

template <class C>
concept starts_in_a_buffer = requires(void* memory) { C::in_buffer(memory, std::size_t{}); };

// Returns: what `use` returns for a fresh pool of the contender, on a buffer of the stack if it takes one.
template <class C, class Use>
[[gnu::always_inline]] inline std::uint64_t with_fresh_pool(Use use) {
    if constexpr (starts_in_a_buffer<C>) {
        alignas(16) std::array<std::byte, stack_buffer_bytes> buffer;
        escape(buffer.data());
        auto pool = C::in_buffer(buffer.data(), buffer.size());
        return use(pool);
    } else {
        typename C::pool pool;
        return use(pool);
    }
}

// The end of a container of one string: by its destructor, or with its pool (on the stack, or in the pool itself).
enum class set_ending : unsigned char { destroy, wink_on_stack, wink_in_pool };

// Returns: the number of different characters in the text, counted by a container with its own pool.
template <class C, class Container, set_ending Ending>
[[gnu::noinline]] std::uint64_t count_different(std::string_view text) {
    const auto count_in = [text](Container& found) -> std::uint64_t {
        found.insert(text.begin(), text.end());
        return found.size();
    };
    return with_fresh_pool<C>([&](typename C::pool& pool) -> std::uint64_t {
        if constexpr (Ending == set_ending::wink_in_pool) {
            void* const room = C::take(C::handle(pool), sizeof(Container), alignof(Container));
            return count_in(*::new (room) Container(C::template bind<char>(pool)));
        } else if constexpr (Ending == set_ending::wink_on_stack) {
            alignas(Container) std::byte room[sizeof(Container)];
            return count_in(*::new (static_cast<void*>(room)) Container(C::template bind<char>(pool)));
        } else {
            Container found(C::template bind<char>(pool));
            return count_in(found);
        }
    });
}

}  // namespace millpond::suites
