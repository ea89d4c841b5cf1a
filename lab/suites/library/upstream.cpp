// SPDX-License-Identifier: BSL-1.0
#include "upstream.hpp"

#include "millpond/bind/resource.hpp"
#include "millpond/block/chunk_cache.hpp"

#if defined(MILLPOND_SUITE_BOOST) && !defined(MILLPOND_HARDENED)
#include "peers_boost.hpp"
#endif

namespace millpond::library {

#if defined(MILLPOND_SUITE_BOOST) && !defined(MILLPOND_HARDENED)
namespace {

// Our cache behind Boost's own base class.
class boost_chunk_cache final : public boost::container::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return cache_.allocate(bytes, alignment); }
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override {
        cache_.deallocate(chunk, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    chunk_cache cache_;
};

}  // namespace
#endif

void keep_chunks_of_peers() {
    static resource<chunk_cache> kept;
    suites::peer_upstream = &kept;
#if defined(MILLPOND_SUITE_BOOST) && !defined(MILLPOND_HARDENED)
    static boost_chunk_cache boost_kept;
    boost_upstream = &boost_kept;
#endif
}

}  // namespace millpond::library
