// SPDX-License-Identifier: BSL-1.0
// numa_pages: pages as os::pages, whose memory is that of one node: one group of processors and the memory next to it.
//
//   node 0: processors 0-15 ── memory ◀── numa_pages(0)      every page that is committed is bound to the node before
//   node 1: processors 16-31 ─ memory ◀── numa_pages(1)      it is first touched
//
// Use it through numa_region. Without a binding, a page lies on the node of the thread that touches it first, which is
// right unless one thread builds what threads of another node use.
//
// The binding is for speed and never decides whether there is memory: where the system refuses it (a node that does not
// exist or that this process may not use, a kernel without NUMA, a container that forbids it), the pages lie where the
// system puts them, and is_bound() is false. On a machine with one node, a binding to node 0 changes nothing. When
// the memory of the node is used up, the system takes none of another node: it ends a process, as when all memory is
// used up, so take no more than the node has.
//
// Complexity: as os::pages, and one system call a commit. No library is needed. Not thread-safe. On Windows the node is
// preferred, not bound. On other systems than Linux and Windows nothing is bound. Implemented in src/os: link
// millpond::millpond.
//
// Example:
//     using millpond::os::numa_pages;
//     assert(numa_pages::has_node(numa_pages::current_node()));
//     millpond::basic_reservation<numa_pages> range(1 << 20, numa_pages(numa_pages::current_node()));
//     assert(range.commit_to(1 << 16));
#pragma once

#include <cstddef>

#include "pages.hpp"

namespace millpond::os {

class numa_pages {
  public:
    // The node of this thread.
    numa_pages() noexcept : numa_pages(current_node()) {}
    explicit numa_pages(unsigned node) noexcept : node_(node) {}

    // Returns: the node of the processor that runs this thread now; 0 if the system does not tell it.
    [[nodiscard]] static unsigned current_node() noexcept;

    // Returns: true if this process may use the memory of the node. If the system does not tell it: true for node 0.
    [[nodiscard]] static bool has_node(unsigned node) noexcept;

    // The same as in os::pages, for this memory.
    [[nodiscard]] static std::size_t size() noexcept { return pages::size(); }
    [[nodiscard]] static std::size_t granularity() noexcept { return pages::granularity(); }
    [[nodiscard]] void* reserve(std::size_t bytes) noexcept;
    [[nodiscard]] bool commit(void* at, std::size_t bytes) noexcept;
    static void populate(void* at, std::size_t bytes) noexcept { pages::populate(at, bytes); }
    [[nodiscard]] static bool decommit(void* at, std::size_t bytes) noexcept { return pages::decommit(at, bytes); }
    static void discard(void* at, std::size_t bytes) noexcept { pages::discard(at, bytes); }
    [[nodiscard]] static bool set_writable(void* at, std::size_t bytes, bool writable) noexcept {
        return pages::set_writable(at, bytes, writable);
    }
    static bool advise_huge(void* at, std::size_t bytes, bool wanted) noexcept {
        return pages::advise_huge(at, bytes, wanted);
    }
    static void release(void* at, std::size_t bytes) noexcept { pages::release(at, bytes); }

    [[nodiscard]] unsigned node() const noexcept { return node_; }

    // Returns: true unless the system has refused to bind some of the memory.
    [[nodiscard]] bool is_bound() const noexcept { return is_bound_; }

  private:
    unsigned node_;
    bool is_bound_ = true;
};

}  // namespace millpond::os
