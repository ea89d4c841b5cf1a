// SPDX-License-Identifier: BSL-1.0
// fancy_pointer_test: suballocators, pooled and ranked containers over an allocator whose pointers are offsets; and
// containers in one mapping of shared memory that are read through another one.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/set.hpp>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "millpond/bind/suballocator.hpp"
#include "millpond/container.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using boost::interprocess::create_only;
using boost::interprocess::open_only;
using segment = boost::interprocess::managed_external_buffer;
template <class T>
using shared = boost::interprocess::allocator<T, segment::segment_manager>;

static_assert(!std::is_pointer_v<std::allocator_traits<shared<int>>::pointer>);
static_assert(std::is_same_v<suballocator<shared<int>>::pointer, std::allocator_traits<shared<int>>::pointer>);
static_assert(std::is_same_v<suballocator<std::allocator<int>>::pointer, int*>);

constexpr std::size_t mega = std::size_t{1} << 20;

// Memory that offsets divide, in this process only. Expects all of it back.
class own_segment {
  public:
    template <class T>
    [[nodiscard]] shared<T> allocator() {
        return shared<T>(segment_.get_segment_manager());
    }
    ~own_segment() { EXPECT_EQ(segment_.get_free_memory(), free_bytes_) << "not all memory came back"; }

  private:
    struct alignas(4096) page {
        unsigned char bytes[4096];
    };
    std::vector<page> memory_ = std::vector<page>(8 * mega / sizeof(page));
    segment segment_{create_only, memory_.data(), memory_.size() * sizeof(page)};
    std::size_t free_bytes_ = segment_.get_free_memory();
};

// Plays the same random life of a container and of a set of the standard; for containers of unique keys.
template <class Ours>
void live_alike(Ours& ours) {
    std::set<int> standard;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 5000; ++step) {
        const int key = test::uniform(numbers, 0, 1000);
        if (test::uniform(numbers, 0, 2) != 0) {
            ours.insert(key);
            standard.insert(key);
        } else {
            ours.erase(key);
            standard.erase(key);
        }
    }
    ASSERT_EQ(ours.size(), standard.size());
    EXPECT_TRUE(std::all_of(ours.begin(), ours.end(), [&](int key) { return standard.contains(key); }));
}

// Grows and shrinks a sequence at its ends; the numbers in it stay in a row.
template <class Ours>
void grow_and_shrink(Ours& ours) {
    for (int i = 0; i < 3000; ++i) ours.push_back(i);
    ours.erase(ours.begin(), std::next(ours.begin(), 1000));
    for (int i = 3000; i < 3500; ++i) ours.push_back(i);
    ASSERT_EQ(ours.size(), 2500U);
    int expected = 1000;
    for (const int found : ours) ASSERT_EQ(found, expected++);
}

TEST(fancy_pointer, suballocators_serve_containers_that_accept_it) {
    own_segment memory;
    using allocator = suballocator<shared<int>>;
    const allocator from(memory.allocator<int>());
    boost::container::set<int, std::less<>, allocator> keys(from);
    live_alike(keys);
    boost::container::list<int, allocator> numbers(from), others(from);
    grow_and_shrink(numbers);
    others.splice(others.begin(), numbers);
    EXPECT_EQ(others.front(), 1000);
    std::vector<int, allocator> row(from);
    grow_and_shrink(row);
    std::unordered_set<int, std::hash<int>, std::equal_to<>, allocator> hashed(from);
    live_alike(hashed);
    using wide = std::array<char, 1000>;  // above the largest slot
    std::vector<wide, suballocator<shared<wide>>> blocks(1, wide{}, from);
    EXPECT_EQ(blocks.get_allocator().max_size(), memory.allocator<wide>().max_size());
}

TEST(fancy_pointer, suballocators_give_the_pointers_of_the_upstream) {
    own_segment memory;
    suballocator<shared<long>> from(memory.allocator<long>());
    const auto slot = from.allocate(1);
    const auto array = from.allocate(7);
    const auto counted = from.allocate_at_least(3);
    static_assert(std::is_same_v<decltype(slot), const suballocator<shared<long>>::pointer>);
    static_assert(std::is_same_v<decltype(counted.ptr), suballocator<shared<long>>::pointer>);
    *slot = 1;
    array[6] = 2;
    EXPECT_EQ(*slot + array[6], 3);
    from.deallocate(counted.ptr, counted.count);
    from.deallocate(array, 7);
    from.deallocate(slot, 1);
}

TEST(fancy_pointer, pooled_containers_live_as_over_plain_ones) {
    own_segment memory;
    const auto from = memory.allocator<int>();
    pooled_set<int, std::less<>, shared<int>> keys(from), others(from);
    live_alike(keys);
    others.insert(2000);
    others.merge(keys);
    EXPECT_TRUE(others.contains(2000));
    pooled_unordered_set<int, std::hash<int>, std::equal_to<>, shared<int>> hashed(from);
    live_alike(hashed);
    pooled_list<int, shared<int>> numbers(from), more(from);
    grow_and_shrink(numbers);
    more.splice(more.end(), numbers);
    EXPECT_EQ(more.size(), 2500U);
    numbers = std::move(more);
    EXPECT_GT(numbers.stats().live_slots, 0U);
    pooled_forward_list<int, shared<int>> forward(from);
    for (int i = 0; i < 100; ++i) forward.push_front(i);
    forward.sort();
    EXPECT_TRUE(std::is_sorted(forward.begin(), forward.end()));
    using row = std::pair<const int, std::string>;
    pooled_map<int, std::string, std::less<>, shared<row>> map(memory.allocator<row>());
    for (int i = 0; i < 100; ++i) map.emplace(i, std::string(40, 'x'));
    auto handle = map.extract(50);
    EXPECT_EQ(handle.mapped().size(), 40U);
    map.insert(std::move(handle));
    EXPECT_EQ(map.size(), 100U);
    others.wink();
    EXPECT_TRUE(others.empty());
}

TEST(fancy_pointer, ranked_containers_live_as_over_plain_ones) {
    own_segment memory;
    const auto from = memory.allocator<int>();
    counted_set<int, std::less<>, shared<int>> counted(from);
    live_alike(counted);
    const suballocator<shared<int>> of_slots(from);
    counted_set<int, std::less<>, suballocator<shared<int>>> slots(of_slots);
    live_alike(slots);
    EXPECT_EQ(slots.rank(*slots.nth(slots.size() / 2)), slots.size() / 2);
    ordered_set<int, std::less<>, shared<int>> ordered(from);
    live_alike(ordered);
    EXPECT_TRUE(std::is_sorted(ordered.begin(), ordered.end()));
    vector_tree<int, shared<int>> sequence(from);
    grow_and_shrink(sequence);
    using text = std::array<char, 100>;  // too large to lie in a leaf
    pooled_vector_tree<text, shared<text>> texts{suballocator<shared<text>>(memory.allocator<text>())};
    for (int i = 0; i < 300; ++i) texts.insert(texts.begin(), text{static_cast<char>(i % 100)});
    texts.erase(texts.begin() + 100, texts.end());
    EXPECT_EQ(texts[0][0], 299 % 100);
}

TEST(fancy_pointer, std_sources_align_blocks_and_get_them_back) {
    own_segment memory;
    std_source<shared<int>> source(memory.allocator<int>());
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        void* const block = source.allocate(100, alignment);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
        source.deallocate(block, 100, alignment);
    }
    EXPECT_EQ(source.try_allocate(64 * mega, 16), nullptr);
}

#if defined(MFD_CLOEXEC)

// One file of memory, mapped twice.
class two_mappings {
  public:
    static constexpr std::size_t bytes = 4 * mega;

    two_mappings() : file_(memfd_create("fancy_pointer_test", MFD_CLOEXEC)) {
        if (ftruncate(file_, bytes) != 0) return;
        for (void*& each : at_) each = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    }
    two_mappings(const two_mappings&) = delete;
    two_mappings& operator=(const two_mappings&) = delete;
    ~two_mappings() {
        for (void* each : at_) {
            if (each != MAP_FAILED) munmap(each, bytes);
        }
        close(file_);
    }

    [[nodiscard]] bool is_made() const { return at_[0] != MAP_FAILED && at_[1] != MAP_FAILED; }
    [[nodiscard]] void* first() const { return at_[0]; }
    [[nodiscard]] void* second() const { return at_[1]; }
    // Effects: allows reads only in the second mapping.
    [[nodiscard]] bool protect_second() const { return mprotect(at_[1], bytes, PROT_READ) == 0; }
    [[nodiscard]] bool second_holds(const void* address) const {
        const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(at_[1]);
        return offset < bytes;
    }

  private:
    int file_;
    void* at_[2] = {MAP_FAILED, MAP_FAILED};
};

// Makes a container in the first mapping, fills it, and reads it through the second one after every few changes.
template <class Container, class Insert, class Erase>
void change_here_read_there(Insert insert, Erase erase) {
    const two_mappings memory;
    ASSERT_TRUE(memory.is_made());
    ASSERT_NE(memory.first(), memory.second());
    segment first(create_only, memory.first(), two_mappings::bytes);
    shared<typename Container::value_type> from(first.get_segment_manager());
    Container& made = *first.construct<Container>("made")(typename Container::allocator_type(from));
    segment second(open_only, memory.second(), two_mappings::bytes);
    const Container& seen = *second.find<Container>("made").first;
    ASSERT_TRUE(memory.second_holds(&seen));
    ASSERT_TRUE(memory.protect_second());
    auto numbers = test::random_numbers();
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 100; ++i) insert(made, test::uniform(numbers, 0, 10'000));
        for (int i = 0; i < 40; ++i) erase(made);
        ASSERT_EQ(seen.size(), made.size());
        auto expected = made.begin();
        for (const auto& each : seen) {
            ASSERT_TRUE(memory.second_holds(&each));
            ASSERT_EQ(each, *expected++);
        }
    }
    first.destroy<Container>("made");
}

TEST(fancy_pointer, lists_are_read_through_another_mapping) {
    using list = boost::container::list<int, suballocator<shared<int>>>;
    change_here_read_there<list>([](list& into, int number) { into.push_back(number); },
                                 [](list& from) { from.pop_front(); });
}

TEST(fancy_pointer, sets_are_read_through_another_mapping) {
    using set = boost::container::set<int, std::less<>, suballocator<shared<int>>>;
    change_here_read_there<set>([](set& into, int number) { into.insert(number); },
                                [](set& from) { from.erase(from.begin()); });
}

TEST(fancy_pointer, vectors_are_read_through_another_mapping) {
    using vector = std::vector<int, suballocator<shared<int>>>;
    change_here_read_there<vector>([](vector& into, int number) { into.push_back(number); },
                                   [](vector& from) { from.pop_back(); });
}

#if defined(_LIBCPP_VERSION)  // its containers of nodes hold the allocator's pointers
TEST(fancy_pointer, pooled_sets_are_read_through_another_mapping) {
    using set = pooled_set<int, std::less<>, shared<int>>;
    change_here_read_there<set>([](set& into, int number) { into.insert(number); },
                                [](set& from) { from.erase(from.begin()); });
}

TEST(fancy_pointer, pooled_lists_are_read_through_another_mapping) {
    using list = pooled_list<int, shared<int>>;
    change_here_read_there<list>([](list& into, int number) { into.push_back(number); },
                                 [](list& from) { from.pop_front(); });
}
#endif

#endif

}  // namespace
}  // namespace millpond
