// SPDX-License-Identifier: BSL-1.0
// millpond-library-suite: the library's allocators and containers, and their peers, measured in passes.
#include "adapter_pool.hpp"
#include "contenders.hpp"
#include "lab/suites/common/peers_std.hpp"
#include "lab/suites/frame/suite.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;
using namespace millpond::library;

constexpr const frame::workload* workloads[] = {
    &vector_string,
    &unordered_set_int,
    &unordered_set_string,
    &vector_vector_string,
    &vector_unordered_set_int,
    &vector_unordered_set_string,
    &vector_int,
    &vector_int_64,
    &vector_int_growing,
    &lists_shuffled,
    &free_allocate,
    &size_sweep,
    &threads_own,
    &threads_handover,
    &unique_characters,
    &churn_fifo,
    &churn_random,
    &construct_empty,
    &push_back,
    &push_back_huge,
    &push_back_pauses,
    &commit_steps_sweep,
    &small_array_int,
    &small_array_unique,
    &slots_of_numbers,
    &slots_sparse,
    &slots_pairs,
    &set_of_numbers,
    &set_life,
    &small_sets,
    &small_lists,
    &merged_sets,
    &spliced_lists,
    &random_sizes,
    &ordered_numbers,
    &small_ordered_numbers,
    &ranked_numbers,
    &sequence,
    &sequence_crossing,
};
#if defined(MILLPOND_SUITE_BOOST)
// Makes Millpond's cache a class derived from Boost's base class.
class boost_chunk_cache final : public boost::container::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return cache_.allocate(bytes, alignment); }
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override {
        cache_.deallocate(chunk, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    chunk_cache cache_;
};
#endif

// For NAME:kept, the cost of a peer if released chunks are kept, as Millpond's are. Call it before the first pool is
// built.
void keep_chunks_of_peers() {
    static resource<chunk_cache> kept;
    suites::peer_upstream = &kept;
#if defined(MILLPOND_SUITE_BOOST)
    static boost_chunk_cache boost_kept;
    boost_upstream = &boost_kept;
#endif
}

constexpr frame::foreign_peer peer{"adapter", load_adapter, [] { return adapter.name(); },
                                   [] { return adapter.version(); }};
constexpr frame::suite suite{.name = "library",
                             .of = "a workload of the library's benchmark",
                             .workloads = workloads,
                             .contenders = contenders,
                             .keep_chunks = keep_chunks_of_peers,
                             .kept_bytes = chunk_cache::held_bytes,
                             .peer = &peer};

}  // namespace

int main(int argc, char** argv) { return frame::run_suite(suite, argc, argv); }
