// SPDX-License-Identifier: BSL-1.0
#include "contenders.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <new>
#include <set>
#include <unordered_set>

#include "lab/suites/common/bindings.hpp"
#include "lab/suites/experiment/noted_new_delete.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"

namespace millpond::unique_chars {
namespace {

using suites::character_strings;

template <class C>
using set_of = std::set<char, std::less<char>, typename C::template allocator<char>>;
template <class C>
using unordered_set_of =
    std::unordered_set<char, std::hash<char>, std::equal_to<char>, typename C::template allocator<char>>;

// A source that has nothing: what is above it must do with its buffer.
struct refusing_source {
    [[nodiscard]] static void* try_allocate(std::size_t, std::size_t) noexcept { return nullptr; }
    static void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
using stack_monotonic = monotonic<refusing_source>;

using heap = suites::by_heap<std::allocator>;
using noted_heap = suites::by_type<experiment::noted_new_delete>;
using pmr_monotonic = suites::by_pmr<std::pmr::monotonic_buffer_resource>;
struct pmr_in_buffer : pmr_monotonic {
    static pool in_buffer(void* memory, std::size_t bytes) {
        return pool(memory, bytes, std::pmr::null_memory_resource());
    }
};
template <class Way>
struct in_our_buffer : Way {
    static typename Way::pool in_buffer(void* memory, std::size_t bytes) {
        return typename Way::pool(initial_buffer{memory, bytes});
    }
};
template <class Way>
struct winked : Way {
    static constexpr bool winks = true;
};

// A container of its own for each string. It lies on the stack; winked out, its destructor does not run.
template <class C, template <class> class Container>
struct counts_by {
    [[gnu::noinline]] static std::uint64_t count(std::string_view text) {
        return suites::with_fresh_pool<C>([&](typename C::pool& pool) -> std::uint64_t {
            using container = Container<C>;
            if constexpr (C::winks) {
                alignas(container) std::byte room[sizeof(container)];
                container& found = *::new (room) container(C::template bind<char>(pool));
                found.insert(text.begin(), text.end());
                return found.size();
            } else {
                container found(C::template bind<char>(pool));
                found.insert(text.begin(), text.end());
                return found.size();
            }
        });
    }
};

struct counts_by_bitset {
    [[gnu::noinline]] static std::uint64_t count(std::string_view text) {
        std::bitset<256> seen;
        for (const char c : text) seen.set(static_cast<unsigned char>(c));
        return seen.count();
    }
};

struct counts_by_array {
    [[gnu::noinline]] static std::uint64_t count(std::string_view text) {
        std::array<std::byte, 256> seen{};
        for (const char c : text) seen[static_cast<unsigned char>(c)] = std::byte{1};
        return static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), std::byte{1}));
    }
};

template <class Counting>
std::uint64_t count_all(const character_strings& texts, std::uint64_t calls) {
    std::uint64_t sum = 0;
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < calls; ++i) {
        sum += Counting::count(texts[at]);
        if (++at == texts.size()) at = 0;
        suites::clobber();
    }
    return sum;
}

template <class C>
constexpr auto by_set = count_all<counts_by<C, set_of>>;
template <class C>
constexpr auto by_unordered_set = count_all<counts_by<C, unordered_set_of>>;

using suites::by_pmr, suites::by_type;
using monotonic_by_type = by_type<monotonic<>>;
using monotonic_by_base = by_pmr<resource<monotonic<>>>;
using stack_by_type = in_our_buffer<by_type<stack_monotonic>>;
using stack_by_base = in_our_buffer<by_pmr<resource<stack_monotonic>>>;
using multipool_by_type = by_type<multipool<>>;
using multipool_by_base = by_pmr<resource<multipool<>>>;

constexpr contender all[] = {
    {"set:new_delete:type:destroy", "1.1", by_set<heap>},
    {"set:pmr_monotonic:base:destroy", "1.2", by_set<pmr_monotonic>},
    {"set:pmr_monotonic(buffer):base:destroy", "1.3", by_set<pmr_in_buffer>},
    {"unordered_set:new_delete:type:destroy", "2.1", by_unordered_set<heap>},
    {"unordered_set:pmr_monotonic:base:destroy", "2.2", by_unordered_set<pmr_monotonic>},
    {"bitset", "4", count_all<counts_by_bitset>},
    {"array", "4A", count_all<counts_by_array>},
    {"set:monotonic:type:destroy", "", by_set<monotonic_by_type>, true},
    {"set:monotonic:type:wink", "", by_set<winked<monotonic_by_type>>, true},
    {"set:monotonic:base:destroy", "", by_set<monotonic_by_base>, true},
    {"set:monotonic(buffer):type:destroy", "", by_set<stack_by_type>},
    {"set:monotonic(buffer):type:wink", "", by_set<winked<stack_by_type>>},
    {"set:monotonic(buffer):base:destroy", "", by_set<stack_by_base>},
    {"set:multipool:type:destroy", "", by_set<multipool_by_type>, true},
    {"set:multipool:type:wink", "", by_set<winked<multipool_by_type>>, true},
    {"set:multipool:base:destroy", "", by_set<multipool_by_base>, true},
    {"unordered_set:monotonic:type:destroy", "", by_unordered_set<monotonic_by_type>, true},
    {"unordered_set:monotonic:type:wink", "", by_unordered_set<winked<monotonic_by_type>>, true},
    {"unordered_set:monotonic:base:destroy", "", by_unordered_set<monotonic_by_base>, true},
    {"unordered_set:multipool:type:destroy", "", by_unordered_set<multipool_by_type>, true},
    {"unordered_set:multipool:type:wink", "", by_unordered_set<winked<multipool_by_type>>, true},
    {"unordered_set:multipool:base:destroy", "", by_unordered_set<multipool_by_base>, true},
};

}  // namespace

std::span<const contender> contenders() { return all; }

void count_noted(const character_strings& texts, std::uint64_t calls) {
    by_set<noted_heap>(texts, calls - calls / 2);
    by_unordered_set<noted_heap>(texts, calls / 2);
}

}  // namespace millpond::unique_chars
