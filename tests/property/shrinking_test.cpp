// SPDX-License-Identifier: BSL-1.0
// shrinking_test: the same promises under RapidCheck, which reduces a failing life to a few operations.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <millpond/local.hpp>
#include <sstream>
#include <tuple>
#include <vector>

#include "../unit/support/accounting_source.hpp"
#include "../unit/support/block_model.hpp"

namespace millpond {
namespace {

using test::accounting_ref;

struct operation {
    enum kind_type { allocate, deallocate, reset, release } kind;
    std::size_t bytes;
    std::size_t alignment;
    std::size_t which;
};

std::ostream& operator<<(std::ostream& out, const operation& done) {
    const char* const names[] = {"allocate", "deallocate", "reset", "release"};
    return out << names[done.kind] << '(' << done.bytes << ", " << done.alignment << ", " << done.which << ')';
}

rc::Gen<operation> any_operation() {
    const auto kinds = rc::gen::weightedElement<operation::kind_type>(
        {{30, operation::allocate}, {25, operation::deallocate}, {1, operation::reset}, {1, operation::release}});
    const auto bytes = rc::gen::weightedOneOf<std::size_t>(
        {{15, rc::gen::inRange<std::size_t>(0, 200)}, {1, rc::gen::inRange<std::size_t>(0, 70000)}});
    const auto alignments = rc::gen::map(rc::gen::inRange(0, 13), [](int log2) { return std::size_t{1} << log2; });
    return rc::gen::map(
        rc::gen::tuple(kinds, bytes, alignments, rc::gen::arbitrary<std::size_t>()), [](const auto& parts) {
            return operation{std::get<0>(parts), std::get<1>(parts), std::get<2>(parts), std::get<3>(parts)};
        });
}

// Plays the operations. Every block is filled with its number; an overlap shows when the block is freed.
template <class Pool>
void play(const std::vector<operation>& operations) {
    test::accounting_source source;
    Pool pool(source);
    struct live_block {
        unsigned char* start;
        std::size_t bytes, alignment;
        unsigned char mark;
    };
    std::vector<live_block> live;
    unsigned char marks = 0;
    for (const operation& next : operations) {
        if (next.kind == operation::allocate) {
            auto* const start = static_cast<unsigned char*>(pool.try_allocate(next.bytes, next.alignment));
            RC_ASSERT(start != nullptr);
            RC_ASSERT(detail::is_aligned(start, next.alignment));
            std::memset(start, ++marks, next.bytes);
            live.push_back({start, next.bytes, next.alignment, marks});
        } else if (next.kind == operation::deallocate && !live.empty()) {
            std::swap(live[next.which % live.size()], live.back());
            const live_block block = live.back();
            live.pop_back();
            for (std::size_t i = 0; i < block.bytes; ++i) RC_ASSERT(block.start[i] == block.mark);
            pool.deallocate(block.start, block.bytes, block.alignment);
        } else if (next.kind == operation::reset || next.kind == operation::release) {
            next.kind == operation::reset ? pool.reset() : pool.release();
            live.clear();
        }
    }
    pool.release();
    RC_ASSERT(source.live_blocks() == 0u);
}

// Runs the lives of an allocator in a gtest that prints the failure that RapidCheck found.
template <class Pool>
void holds() {
    const auto result =
        rc::detail::checkTestable([] { play<Pool>(*rc::gen::container<std::vector<operation>>(any_operation())); });
    std::ostringstream words;
    rc::detail::printResultMessage(result, words);
    EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << words.str();
}

TEST(shrinking, monotonic_keeps_its_promises) { holds<monotonic<accounting_ref>>(); }
TEST(shrinking, multipool_keeps_its_promises) { holds<multipool<accounting_ref>>(); }
TEST(shrinking, multipool_of_powers_of_two_keeps_its_promises) { holds<multipool<accounting_ref, powers_of_two<>>>(); }
TEST(shrinking, multipool_over_monotonic_keeps_its_promises) { holds<multipool<monotonic<accounting_ref>>>(); }

}  // namespace
}  // namespace millpond
