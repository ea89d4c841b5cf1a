// SPDX-License-Identifier: BSL-1.0
// millpond-unique_chars-suite: the case studies of the talk "Understanding Allocator Impact on Runtime Performance":
// counts the different characters of strings, with a fresh container for each string.
//
//   strings drawn ── start ── count(string), count(next), … `calls` of them ── stop      any of the 256 values
//   littering: the talk's own functions run first, all deletes held back, then some of the blocks are freed at random
//
//   set:pmr_monotonic(buffer):base:destroy     container : allocator (on a buffer of the stack) : binding : disposal
//   bitset, array                              containers that need no allocator
//   1.1 … 4A                                   aliases: the talk's numbers
//
// The checksum is the sum of all counts. Case Study 1; Case Study 2 litters the heap first.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lab/suites/common/bindings.hpp"
#include "lab/suites/common/unique_characters.hpp"
#include "lab/suites/frame/noted_new_delete.hpp"
#include "lab/suites/frame/suite.hpp"
#include "lab/suites/frame/window.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"

namespace {

using namespace millpond;

using suites::character_strings, suites::set_ending;

template <class C>
using set_of = std::set<char, std::less<char>, typename C::template allocator<char>>;
template <class C>
using unordered_set_of =
    std::unordered_set<char, std::hash<char>, std::equal_to<char>, typename C::template allocator<char>>;

// A source that always fails: the pool above it must manage with its buffer.
struct refusing_source {
    [[nodiscard]] static void* try_allocate(std::size_t, std::size_t) noexcept { return nullptr; }
    static void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
using stack_monotonic = monotonic<refusing_source>;

using heap = suites::by_heap<std::allocator>;
using noted_heap = suites::by_type<frame::noted_new_delete>;
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
struct winked_pool : Way {
    static constexpr bool winks = true;
};

template <class C, class Container>
struct counts_by {
    static std::uint64_t count(std::string_view text) {
        return suites::count_different<C, Container, C::winks ? set_ending::wink_on_stack : set_ending::destroy>(text);
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
constexpr auto by_set = count_all<counts_by<C, set_of<C>>>;
template <class C>
constexpr auto by_unordered_set = count_all<counts_by<C, unordered_set_of<C>>>;

using suites::by_pmr, suites::by_type;
using monotonic_by_type = by_type<monotonic<>>;
using monotonic_by_base = by_pmr<resource<monotonic<>>>;
using stack_by_type = in_our_buffer<by_type<stack_monotonic>>;
using stack_by_base = in_our_buffer<by_pmr<resource<stack_monotonic>>>;
using multipool_by_type = by_type<multipool<>>;
using multipool_by_base = by_pmr<resource<multipool<>>>;

// Returns: the sum of `calls` counts, of the strings one by one and from the first again.
using counting = std::uint64_t (*)(const character_strings& texts, std::uint64_t calls);

struct taker {
    frame::contender is;
    counting count;
};

constexpr frame::contender of_malloc(std::string_view name, std::string_view alias) {
    return {.name = name, .alias = alias, .kind = "malloc", .from = &frame::packages::libc};
}
constexpr frame::contender of_pmr(std::string_view name, std::string_view alias) {
    return {.name = name, .alias = alias, .kind = "monotonic_peer", .from = &frame::packages::standard_library};
}
constexpr frame::contender of_array(std::string_view name, std::string_view alias) {
    return {.name = name, .alias = alias, .kind = "array"};
}
// Runs only on a buffer on the stack: it has no chunks.
constexpr frame::contender ours_in_buffer(std::string_view name) { return {.name = name}; }
constexpr frame::contender ours(std::string_view name) {
    return {.name = name, .source = "default", .held_bytes = chunk_cache::held_bytes};
}

constexpr taker all[] = {
    {of_malloc("set:new_delete:type:destroy", "1.1"), by_set<heap>},
    {of_pmr("set:pmr_monotonic:base:destroy", "1.2"), by_set<pmr_monotonic>},
    {of_pmr("set:pmr_monotonic(buffer):base:destroy", "1.3"), by_set<pmr_in_buffer>},
    {of_malloc("unordered_set:new_delete:type:destroy", "2.1"), by_unordered_set<heap>},
    {of_pmr("unordered_set:pmr_monotonic:base:destroy", "2.2"), by_unordered_set<pmr_monotonic>},
    {of_array("bitset", "4"), count_all<counts_by_bitset>},
    {of_array("array", "4A"), count_all<counts_by_array>},
    {ours("set:monotonic:type:destroy"), by_set<monotonic_by_type>},
    {ours("set:monotonic:type:wink"), by_set<winked_pool<monotonic_by_type>>},
    {ours("set:monotonic:base:destroy"), by_set<monotonic_by_base>},
    {ours_in_buffer("set:monotonic(buffer):type:destroy"), by_set<stack_by_type>},
    {ours_in_buffer("set:monotonic(buffer):type:wink"), by_set<winked_pool<stack_by_type>>},
    {ours_in_buffer("set:monotonic(buffer):base:destroy"), by_set<stack_by_base>},
    {ours("set:multipool:type:destroy"), by_set<multipool_by_type>},
    {ours("set:multipool:type:wink"), by_set<winked_pool<multipool_by_type>>},
    {ours("set:multipool:base:destroy"), by_set<multipool_by_base>},
    {ours("unordered_set:monotonic:type:destroy"), by_unordered_set<monotonic_by_type>},
    {ours("unordered_set:monotonic:type:wink"), by_unordered_set<winked_pool<monotonic_by_type>>},
    {ours("unordered_set:monotonic:base:destroy"), by_unordered_set<monotonic_by_base>},
    {ours("unordered_set:multipool:type:destroy"), by_unordered_set<multipool_by_type>},
    {ours("unordered_set:multipool:type:wink"), by_unordered_set<winked_pool<multipool_by_type>>},
    {ours("unordered_set:multipool:base:destroy"), by_unordered_set<multipool_by_base>},
};

std::span<const frame::contender> contenders() {
    static const std::vector<frame::contender> found = [] {
        std::vector<frame::contender> each;
        for (const taker& one : all) each.push_back(one.is);
        return each;
    }();
    return found;
}

using frame::outcome, frame::parameter, frame::point;

constexpr parameter parameters[] = {
    {"length", 256, 1, std::int64_t{1} << 24, "characters of a string"},
    {"calls", 4096, 1, std::int64_t{1} << 40, "strings counted"},
    {"litter_calls", 4096, 1, std::int64_t{1} << 24, "strings counted to litter the heap, where --litter is given"},
    frame::seed_parameter,
};

outcome run(const point& asked) {
    const suites::character_strings texts(asked.count("length"), asked.seed());
    const std::uint64_t calls = asked.count("calls");
    outcome result;
    frame::window measured;
    measured.run(result, [&] { result.checksum = all[asked.contender].count(texts, calls); });
    result.set_count("units", calls);
    return result;
}

constexpr frame::workload unique_characters{
    .name = "unique_characters", .unit = "string", .parameters = parameters, .run = run};

// Effects: counts as many strings as litter_calls says, with the talk's sets: std::set and std::unordered_set in turn.
void note_blocks(const point& asked, measure::heap_litter& blocks) {
    frame::noting = &blocks;
    const character_strings texts(asked.count("length"), asked.seed());
    const std::uint64_t calls = asked.count("litter_calls");
    by_set<noted_heap>(texts, calls - calls / 2);
    by_unordered_set<noted_heap>(texts, calls / 2);
}

constexpr const frame::workload* workloads[] = {&unique_characters};
constexpr frame::suite suite{.name = "unique_chars",
                             .of = "a case study of allocator impact",
                             .workloads = workloads,
                             .contenders = contenders,
                             .note_blocks = note_blocks};

}  // namespace

int main(int argc, char** argv) { return frame::run_suite(suite, argc, argv); }
