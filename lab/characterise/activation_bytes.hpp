// SPDX-License-Identifier: BSL-1.0
// activation_bytes: bytes that one subsystem asks for during each activation of the scopes around it, on one thread.
//
//   pending   thread 4096 │ main 640 │ add 48      one entry for each level with bytes not yet handed outward
//
// Bytes are added at the innermost active scope only, and move outward when that activation is seen to have ended; so
// an allocation costs O(1), and an end O(levels that ended). An activation that ends is reported once, with its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/characterise/activations.hpp"

namespace millpond::characterise {

class activation_bytes {
  public:
    // report(function, bytes) for each activation that has ended since.
    template <typename Report>
    void add(std::uint64_t bytes, const activations& now, const scope_tree& tree, Report&& report) {
        const std::uint64_t serial = now.innermost_serial();
        if (pending_.back().serial != serial) [[unlikely]] {
            settle(now, tree, report);
            if (pending_.back().serial != serial) pending_.push_back({serial, now.stack().back().scope, 0});
        }
        pending_.back().bytes += bytes;
    }

    // Reports what is no longer active in `now`. What remains is active.
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
        std::uint64_t serial;  // of the activation; of one inside it, if it had ended before it got an entry
        std::uint32_t scope;
        std::uint64_t bytes;
    };

    void hand_outward(const entry& ended, std::uint32_t depth, const std::vector<activation>& stack,
                      const scope_tree& tree) {
        const std::uint32_t outer = tree.node(ended.scope).parent;
        // Entries are nested, so the one below is the outer activation itself if it is of that depth.
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
