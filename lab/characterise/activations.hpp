// SPDX-License-Identifier: BSL-1.0
// activations: the invocations of scopes that are active on one thread now, as far as a trace of allocations shows.
//
//   stack    main │ run │ add        serial: the moment at which this invocation was first seen, from one clock that
//   serial     1  │  2  │  9         ticks whenever any thread's stack changes
//
// The trace has a stack only at allocations (and at notes that frames have returned). An invocation counts as active
// while consecutive contexts of its thread contain it; it ends at the first that does not. Two invocations in a row
// without an event between them look like one, so counts of activations are lower bounds.
//
// Of the invocations around an object born at clock b (after its own push), those still active are the stack entries
// whose serial is not above b. So an object needs to store only b. enter: O(frames that differ); surviving: O(log
// frames).
#pragma once

#include <cstdint>
#include <vector>

#include "lab/characterise/scope_tree.hpp"

namespace millpond::characterise {

struct activation {
    std::uint32_t scope;
    std::uint64_t serial;
};

class activations {
  public:
    // The thread is now within `scope` (the innermost around an event's context).
    void enter(std::uint32_t scope, const scope_tree& tree, std::uint64_t& clock) {
        if (scope != scope_) [[unlikely]]
            change(scope, tree, clock);
    }

    void leave_all() {
        stack_.clear();
        scope_ = 0;
    }

    // Returns how many of the outermost invocations around an object's birth are still active. Serials rise inward.
    // Most objects either see all of them or die long after most have ended, so the search is binary.
    std::size_t surviving(std::uint64_t birth) const {
        std::size_t depth = stack_.size();
        if (depth == 0 || stack_[depth - 1].serial <= birth) return depth;
        std::size_t first = 0;
        for (std::size_t left = depth - 1; left > 0;) {
            const std::size_t half = left / 2;
            const bool alive = stack_[first + half].serial <= birth;
            first = alive ? first + half + 1 : first;
            left = alive ? left - half - 1 : half;
        }
        return first;
    }

    const std::vector<activation>& stack() const { return stack_; }
    std::uint64_t innermost_serial() const { return stack_.empty() ? 0 : stack_.back().serial; }

  private:
    [[gnu::noinline]] void change(std::uint32_t scope, const scope_tree& tree, std::uint64_t& clock) {
        scope_ = scope;
        entered_.clear();
        for (; scope != 0; scope = tree.node(scope).parent) {
            const std::uint32_t depth = tree.depth(scope);
            if (depth <= stack_.size() && stack_[depth - 1].scope == scope) break;
            entered_.push_back(scope);
        }
        stack_.resize(tree.depth(scope));
        while (!entered_.empty()) {
            stack_.push_back({entered_.back(), ++clock});
            entered_.pop_back();
        }
    }

    std::vector<activation> stack_;
    std::vector<std::uint32_t> entered_;
    std::uint32_t scope_ = 0;
};

// activation_bytes: the bytes that one subsystem requests during each activation of its scopes, on one thread.
//
//   pending   thread 4096 │ main 640 │ add 48      one entry for each level with bytes not yet handed outward
//
// Bytes are added at the innermost active scope only, and move outward when that activation is seen to have ended; so
// an allocation costs O(1), and an end O(levels that ended). An activation that ends is reported once, with its bytes.
class activation_bytes {
  public:
    // Calls report(function, bytes) for each activation that has ended since.
    template <typename Report>
    void add(std::uint64_t bytes, const activations& now, const scope_tree& tree, Report&& report) {
        const std::uint64_t serial = now.innermost_serial();
        if (pending_.back().serial != serial) [[unlikely]] {
            settle(now, tree, report);
            if (pending_.back().serial != serial) pending_.push_back({serial, now.stack().back().scope, 0});
        }
        pending_.back().bytes += bytes;
    }

    // Reports the activations that are no longer in `now`. The others remain.
    template <typename Report>
    void settle(const activations& now, const scope_tree& tree, Report&& report) {
        const std::vector<activation>& stack = now.stack();
        while (pending_.size() > 1) {
            const entry ended = pending_.back();
            const std::uint32_t depth = tree.depth(ended.scope);
            if (stack.size() >= depth && stack[depth - 1].serial == ended.serial) return;
            pending_.pop_back();
            report(tree.node(ended.scope).function, ended.bytes);
            hand_outward(ended, depth - 1, stack, tree);
        }
    }

    std::uint64_t thread_bytes() const { return pending_.front().bytes; }

  private:
    struct entry {
        std::uint64_t serial;  // of the activation, or of an inner one if it ended before it got an entry
        std::uint32_t scope;
        std::uint64_t bytes;
    };

    void hand_outward(const entry& ended, std::uint32_t depth, const std::vector<activation>& stack,
                      const scope_tree& tree) {
        const std::uint32_t outer = tree.node(ended.scope).parent;
        // Entries are nested, so an entry below of that depth is the outer activation itself.
        if (pending_.back().scope == outer && tree.depth(pending_.back().scope) == depth) {
            pending_.back().bytes += ended.bytes;
            return;
        }
        const bool active = stack.size() >= depth && stack[depth - 1].serial <= ended.serial;
        pending_.push_back({active ? stack[depth - 1].serial : ended.serial, outer, ended.bytes});
    }

    std::vector<entry> pending_{{0, 0, 0}};  // the first is the thread itself
};

}  // namespace millpond::characterise
