// SPDX-License-Identifier: BSL-1.0
// later_touches: finds the never-freed objects that the program accessed after a scope around them had ended.
//
//   left objects, by address   ▒▒▒ ▒▒▒▒▒   ▒▒        a reference finds the object it falls into
//   activations of its thread  main │ run │          the number of scopes around its birth that are active then
//
// Such an object could not have died with the scope, so the access is a witness, like a free. The allocator's own
// accesses do not count. Use it for recordings with references and left objects whose scopes have ended: pass every
// step in order, then read touched(). Allocations show the activations, so a touch between the end of a scope and the
// next allocation of its thread may be missed; there are no false touches. O(log left objects) a reference to a page
// with such objects, O(1) for any other. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lab/characterise/activations.hpp"
#include "lab/characterise/event_counts.hpp"
#include "lab/characterise/scope_tree.hpp"
#include "lab/program/model_page.hpp"
#include "lab/references/reader.hpp"

namespace millpond::characterise {

struct touched_object {
    left_object object;
    std::size_t surviving;  // the fewest scopes around its birth that were active when it was accessed
    bool thread_ended;      // it was accessed after the end of the thread that allocated it
};

class later_touches {
  public:
    later_touches(const scope_tree& scopes, const std::vector<context_counts>& contexts,
                  const std::vector<left_object>& left);

    void take(const references::step& step);
    // Returns only objects that were accessed after the end of a scope around them, or of their thread.
    std::vector<touched_object> touched() const;

  private:
    struct watched_object {
        left_object object;
        std::uint64_t birth = 0, thread = 0;
        std::size_t surviving = 0;
        bool is_alive = false, thread_ended = false;
    };
    struct thread_state {
        activations active;
        std::uint64_t life = 0;  // incremented when it ends, because numbers are reused
    };

    void touch(std::uint64_t address);
    void begin(const references::step& step);
    bool may_be_in(std::uint64_t address) const {
        return address >= first_ && address < past_ && pages_[page_of(address)];
    }
    static constexpr unsigned page_log2 = program::model_page_log2;
    static std::size_t page_of(std::uint64_t address) { return (address >> page_log2) & 0xffff; }

    const scope_tree& scopes_;
    const std::vector<context_counts>& contexts_;
    std::vector<watched_object> objects_;  // by address
    std::vector<char> pages_ = std::vector<char>(std::size_t{1} << 16);
    std::uint64_t first_ = ~std::uint64_t{0}, past_ = 0, clock_ = 0;
    std::map<std::uint64_t, thread_state> threads_;
};

}  // namespace millpond::characterise
