// SPDX-License-Identifier: BSL-1.0
// known_walks: a cache of answers about contexts. The keys are the return addresses that decided, innermost first.
//
//   context ─▶ address, address, address ─▶ answer        any context that begins with these has the same answer
//
// No answer's addresses are a prefix of another's, because a walk's end depends only on the addresses up to there.
// A question costs O(log n) for each address that decides it. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "lab/symbols/context_functions.hpp"

namespace millpond::characterise {

template <class Answer>
class known_walks {
  public:
    explicit known_walks(const symbols::context_functions& functions) : functions_(functions) {}

    // Returns: the answer added for addresses that the context begins with; null if there is no such answer.
    const Answer* of(std::uint32_t context) const {
        std::uint32_t state = 0;
        for (std::uint32_t at = context;; at = functions_.node(at).parent) {
            const auto next = next_.find({state, code_of(at)});
            if (next == next_.end()) return nullptr;
            state = next->second;
            if (const auto answer = answers_.find(state); answer != answers_.end()) return &answer->second;
            if (at == 0) return nullptr;
        }
    }

    // `last`: the outermost context whose address decided; 0: the whole stack did.
    const Answer& add(std::uint32_t context, std::uint32_t last, Answer answer) {
        std::uint32_t state = 0;
        for (std::uint32_t at = context;; at = functions_.node(at).parent) {
            const auto [next, is_new] = next_.try_emplace({state, code_of(at)}, states_);
            states_ += is_new;
            state = next->second;
            if (at == last) break;
        }
        return answers_.insert_or_assign(state, std::move(answer)).first->second;
    }

  private:
    using code = std::pair<std::uint32_t, std::uint64_t>;  // module, and offset in it

    code code_of(std::uint32_t at) const {
        if (at == 0) return {~std::uint32_t{0}, 0};
        const trace::context_node& node = functions_.node(at);
        return {node.module, node.offset};
    }

    const symbols::context_functions& functions_;
    std::map<std::pair<std::uint32_t, code>, std::uint32_t> next_;
    std::map<std::uint32_t, Answer> answers_;
    std::uint32_t states_ = 1;
};

}  // namespace millpond::characterise
