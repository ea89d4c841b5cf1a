// SPDX-License-Identifier: BSL-1.0
#include "preload/context_finder.hpp"

#include "preload/pages.hpp"

namespace millpond::preload {
namespace {

constexpr std::size_t first_places = 1024;
constexpr std::size_t first_chunk_bytes = std::size_t{64} << 10;
constexpr std::size_t chunk_bytes_max = std::size_t{8} << 20;
constexpr std::size_t held_bytes_max = std::size_t{12} << 20;
constexpr unsigned last_max = 1024;
constexpr unsigned checks_each = 3;  // words that lead from one frame to the next, at most
// Entries are given up if they agree fewer than `worth` times as often as not, for so many walks.
constexpr std::uint32_t misses_judged = 1024, worth = 2, walks_without_entries = 64 * misses_judged;

// All frames of a stack, innermost first, with `rule_of` for those that no signal interrupted.
template <class RuleOf>
unsigned walk(const call_site& site, std::uintptr_t* return_addresses, unsigned max, const RuleOf& rule_of) noexcept {
    frame_state s{site.return_address, site.stack, site.frame, 0};
    bool exact = false;
    unsigned depth = 0;
    while (depth < max && s.return_address >= 4096) {
        const frame_rule rule = exact ? frame_rule::compute(s.return_address - 1, true) : rule_of(s.return_address);
        return_addresses[depth++] = rule.kind == frame_rule::no_module ? context_tree::generated : s.return_address;
        exact = rule.kind == frame_rule::signal;
        if (exact)
            step_signal(s);
        else if (!step(s, rule)) {
            if ((rule.kind == frame_rule::unknown || rule.steps()) && depth < max)
                return_addresses[depth++] = context_tree::cut;
            break;
        }
    }
    return depth;
}

}  // namespace

bool context_finder::start() noexcept {
    if (last_ != nullptr) return true;
    constexpr std::size_t frames_bytes = sizeof(walked) * (last_max + depth_max);
    auto* const memory = space_.pages.take<std::byte>(frames_bytes + sizeof(check) * checks_each * last_max);
    if (memory == nullptr) return false;
    last_ = reinterpret_cast<walked*>(memory);
    fresh_ = last_ + last_max;
    checks_ = reinterpret_cast<check*>(memory + frames_bytes);
    return true;
}

// Whether the stack that was just walked shall have an entry; counts it as missed.
bool context_finder::may_remember() noexcept {
    if (walks_left_ > 0) {
        --walks_left_;
        return false;
    }
    if (++misses_ >= misses_judged) {
        const bool pays = hits_ / worth >= misses_;
        hits_ = misses_ = 0;
        if (!pays) {
            walks_left_ = walks_without_entries;
            drop_entries();
            return false;
        }
    }
    if (held_bytes_ > held_bytes_max) drop_entries();
    if (index_ == nullptr) {
        index_ = space_.pages.take<place>(first_places * sizeof(place));
        index_mask_ = first_places - 1;
        return false;  // the place that find() left belongs to the former index, or to none
    }
    return true;
}

void context_finder::drop_entries() noexcept {
    for (chunk* c = chunks_; c != nullptr;) {
        chunk* const next = c->next;
        space_.pages.give(c, c->bytes);
        c = next;
    }
    if (index_ != nullptr) space_.pages.give(index_, (index_mask_ + 1) * sizeof(place));
    index_ = nullptr;
    chunks_ = nullptr;
    free_first_ = free_last_ = nullptr;
    held_bytes_ = 0;
    entries_ = 0;
}

void context_finder::drop_everything() noexcept {
    drop_entries();
    if (last_ != nullptr)
        space_.pages.give(last_, sizeof(walked) * (last_max + depth_max) + sizeof(check) * checks_each * last_max);
    last_ = fresh_ = nullptr;
    last_count_ = 0;
}

void* context_finder::take(std::size_t bytes) noexcept {
    if (static_cast<std::size_t>(free_last_ - free_first_) < bytes) {
        std::size_t size = held_bytes_ < first_chunk_bytes ? first_chunk_bytes : held_bytes_;
        if (size > chunk_bytes_max) size = chunk_bytes_max;
        auto* const c = space_.pages.take<chunk>(size);
        if (c == nullptr) return nullptr;
        *c = {chunks_, size};
        chunks_ = c;
        held_bytes_ += size;
        free_first_ = reinterpret_cast<std::byte*>(c) + ((sizeof(chunk) + 15) & ~std::size_t{15});
        free_last_ = reinterpret_cast<std::byte*>(c) + size;
    }
    void* const p = free_first_;
    free_first_ += bytes;
    return p;
}

void context_finder::add(std::uint64_t key, entry* e) noexcept {
    std::size_t i = key >> 8;
    while (index_[i & index_mask_].key != 0) ++i;
    index_[i & index_mask_] = {key, e};
}

bool context_finder::grow_index() noexcept {
    place* const old = index_;
    const std::size_t count = index_mask_ + 1;
    auto* const fresh = space_.pages.take<place>(2 * count * sizeof(place));
    if (fresh == nullptr) return false;
    index_ = fresh;
    index_mask_ = 2 * count - 1;
    for (std::size_t i = 0; i < count; ++i)
        if (old[i].key != 0) add(old[i].key, old[i].what);
    space_.pages.give(old, count * sizeof(place));
    return true;
}

// Whether the walk has come to a frame of the last walk from which everything further out still stands: its position +
// 1, or 0. `candidate` moves outward with the walk; `barrier`: a frame whose word has changed, so that nothing inside
// it can be joined.
unsigned context_finder::join(const frame_state& s, unsigned& candidate, unsigned& barrier) const noexcept {
    while (candidate > 0 && last_[candidate - 1].state.stack < s.stack) --candidate;
    if (candidate == 0 || candidate > barrier) return 0;
    const walked& met = last_[candidate - 1];
    if (met.state.stack != s.stack || met.state.return_address != s.return_address) return 0;
    if (met.needs_bp && met.state.frame != s.frame) return 0;
    const std::uint32_t past = first_difference(met.checks);
    if (past != 0) {
        barrier = candidate - 1;
        while (barrier > 0 && last_[barrier - 1].checks >= past) --barrier;
        return 0;
    }
    return candidate;
}

// The innermost of the first `checks` checks whose word has changed: its position + 1, or 0.
std::uint32_t context_finder::first_difference(std::uint32_t checks) const noexcept {
    while (checks >= 4) {
        const check* const four = checks_ + checks - 4;
        if ((four[0].difference() | four[1].difference() | four[2].difference() | four[3].difference()) != 0) break;
        checks -= 4;
    }
    while (checks > 0 && checks_[checks - 1].difference() == 0) --checks;
    return checks;
}

// Notes the words that lead from last_[frame] to the frame outside of it.
void context_finder::note_checks(unsigned frame) noexcept {
    walked& inner = last_[frame];
    if (frame == 0) {
        inner.checks = 0;
        return;
    }
    const walked& outer = last_[frame - 1];
    std::uint32_t count = outer.checks;
    checks_[count++] = {outer.state.stack - 8, outer.state.return_address};
    if (const std::uintptr_t slot = inner.cfa_slot(); slot != 0) checks_[count++] = {slot, outer.state.stack};
    if (outer.needs_bp && outer.state.bp_slot != 0) checks_[count++] = {outer.state.bp_slot, outer.state.frame};
    inner.checks = count;
}

std::uint32_t context_finder::find_by_walk(const call_site& site) noexcept {
    const std::uint32_t now = __atomic_load_n(&space_.generation, __ATOMIC_ACQUIRE);
    if (now != generation_) {
        drop_entries();
        last_count_ = 0;
        generation_ = now;
    }
    if (!start()) return 0;

    frame_state s{site.return_address, site.stack, site.frame, 0};
    unsigned candidate = last_count_, barrier = last_count_, depth = 0, joined = 0;
    std::uint32_t node = 0;
    for (;; ++depth) {
        joined = join(s, candidate, barrier);
        if (joined != 0) break;
        if (depth == depth_max) {
            node = space_.tree.child(0, context_tree::cut);
            break;
        }
        const frame_rule rule = space_.rules.find(s.return_address);
        fresh_[depth] = {s, 0, false, rule, 0};
        if (rule.kind == frame_rule::signal) return find_across_signal(site);
        if (!step(s, rule)) {
            if (rule.kind == frame_rule::unknown || rule.steps()) node = space_.tree.child(0, context_tree::cut);
            ++depth;
            break;
        }
        if (s.return_address < 4096) {  // the bottom of a thread or coroutine
            ++depth;
            break;
        }
    }
    if (joined + depth > last_max) {  // deeper than is remembered
        last_count_ = 0;
        return find_across_signal(site);
    }

    bool needs_bp = joined != 0 && last_[joined - 1].needs_bp;
    if (joined != 0) {
        node = last_[joined - 1].node;
        // The rbp of the frame that was joined may have come another way than last time.
        last_[joined - 1].state = s;
    }
    for (unsigned i = depth; i-- > 0;) {
        const walked& f = fresh_[i];
        const bool uses = f.rule.kind == frame_rule::from_bp || f.rule.kind == frame_rule::through_bp ||
                          f.rule.bp_rule == frame_rule::at_bp;
        needs_bp = uses || (f.rule.bp_rule == frame_rule::kept && needs_bp);
        const std::uintptr_t address =
            f.rule.kind == frame_rule::no_module ? context_tree::generated : f.state.return_address;
        node = space_.tree.child(node, address);
        const unsigned at = joined + (depth - 1 - i);
        last_[at] = f;
        last_[at].needs_bp = needs_bp;
        last_[at].node = node;
        note_checks(at);
    }
    last_count_ = joined + depth;
    if (node != 0 && may_remember()) remember(site, node);
    return node;
}

// A stack that a signal frame crosses, or that is too deep to remember: walked whole, kept nowhere.
std::uint32_t context_finder::find_across_signal(const call_site& site) noexcept {
    // Not on the stack: a signal handler's may have two kilobytes in all.
    auto* const addresses = reinterpret_cast<std::uintptr_t*>(fresh_);
    const unsigned depth = walk(site, addresses, depth_max,
                                [this](std::uintptr_t return_address) { return space_.rules.find(return_address); });
    std::uint32_t node = depth == depth_max ? space_.tree.child(0, context_tree::cut) : 0;
    for (unsigned i = depth; i-- > 0;) node = space_.tree.child(node, addresses[i]);
    last_count_ = 0;
    return node;
}

void context_finder::remember(const call_site& site, std::uint32_t node) noexcept {
    if (2 * entries_ > index_mask_ && !grow_index()) return;
    auto* const e = static_cast<entry*>(take(entry::bytes(words_max)));
    if (e == nullptr) return;
    std::uint16_t slots[words_max];
    unsigned count = 0;
    const auto depends_on = [&](std::uintptr_t address) {
        const std::uintptr_t slot = (address - site.stack) / 8;
        if (address < site.stack || slot > UINT16_MAX || count == words_max) return false;
        slots[count] = static_cast<std::uint16_t>(slot);
        e->words[count++] = static_cast<std::uint32_t>(word_at(address));
        return true;
    };
    // The innermost frame is the key itself; its callers follow, inner to outer.
    for (unsigned i = last_count_ - 1; i-- > 0;) {
        const walked& f = last_[i];
        const std::uintptr_t cfa_slot = last_[i + 1].cfa_slot();
        if (cfa_slot != 0 && !depends_on(cfa_slot)) break;
        if (f.needs_bp && f.state.bp_slot != 0 && !depends_on(f.state.bp_slot)) break;
        if (!depends_on(f.state.stack - 8)) break;
    }
    e->frame = site.frame;
    e->needs_frame = last_[last_count_ - 1].needs_bp;
    e->node = node;
    e->count = static_cast<std::uint16_t>(count);
    for (unsigned i = 0; i < count; ++i) e->slots()[i] = slots[i];
    free_first_ -= entry::bytes(words_max) - entry::bytes(count);
    add(next_key_, e);
    ++entries_;
}

unsigned context_finder::walk_uncached(const call_site& site, std::uintptr_t* return_addresses, unsigned max) noexcept {
    return walk(site, return_addresses, max,
                [](std::uintptr_t return_address) { return frame_rule::compute(return_address); });
}

}  // namespace millpond::preload
