// SPDX-License-Identifier: BSL-1.0
#include "preload/context_finder.hpp"

#include "preload/pages.hpp"

namespace millpond::preload {
namespace {

// Stacks behind one that was cut are cut at the same frame, unless fewer frames than these remain.
constexpr unsigned cut_depth_min = context_finder::depth_max / 2;
constexpr std::size_t first_places = 1024;
constexpr std::size_t first_chunk_bytes = std::size_t{64} << 10;
constexpr std::size_t chunk_bytes_max = std::size_t{8} << 20;
constexpr std::size_t held_bytes_max = std::size_t{12} << 20;

// Entries are given up if their hits are fewer than `worth` times their misses.
constexpr std::uint32_t misses_judged = 512, worth = 2;

// Collects all frames of a stack, innermost first, with `rule_of` for those that no signal interrupted.
template <class RuleOf>
unsigned walk_whole(const call_site& site, std::uintptr_t* return_addresses, unsigned max,
                    const RuleOf& rule_of) noexcept {
    frame_state s{site.return_address, site.stack, site.frame, 0};
    bool exact = false;
    unsigned depth = 0;
    while (depth < max && s.return_address >= addresses_begin) {
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
    walks_ = space_.pages.take<walks>(sizeof(walks));
    if (walks_ == nullptr) return false;
    walks_->in_front.stack = nowhere;
    last_ = walks_->last;
    return true;
}

// Returns whether the stack that was just walked should get an entry; counts it as missed.
bool context_finder::may_remember() noexcept {
    if (walks_left_ > 0) {
        --walks_left_;
        return false;
    }
    if (++misses_ >= misses_judged) {
        const bool pays = hits_ / worth >= misses_;
        hits_ = misses_ = 0;
        if (!pays) {
            walks_left_ = next_pause_;
            if (next_pause_ < pause_max) next_pause_ *= 2;
            drop_entries();
            return false;
        }
        next_pause_ = first_pause;
    }
    if (held_bytes_ > held_bytes_max) drop_entries();
    if (index_ == nullptr) {
        index_ = space_.pages.take<place>(first_places * sizeof(place));
        index_mask_ = first_places - 1;
        return false;  // the place that find() left belongs to an earlier index, or to none
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
    if (walks_ != nullptr) space_.pages.give(walks_, sizeof(walks));
    walks_ = nullptr;
    last_ = nullptr;
    last_count_ = noded_ = told_ = told_depth_ = 0;
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

// Returns the position + 1 of the innermost word of the first `past` that has changed, or 0.
std::uint32_t context_finder::first_difference(std::uint32_t past) const noexcept {
    while (past >= 4) {
        const check* const four = walks_->checks + past - 4;
        if ((four[0].difference() | four[1].difference() | four[2].difference() | four[3].difference()) != 0) break;
        past -= 4;
    }
    while (past > 0 && walks_->checks[past - 1].difference() == 0) --past;
    return past;
}

// Returns whether everything behind a frame of the last walk is unchanged. If not, no frame inside `barrier` can be
// joined.
bool context_finder::still_stands(const walked_frame& met, walked_frame*& barrier) noexcept {
    const std::uint32_t changed = first_difference(met.checks);
    if (changed == 0) return true;
    while (barrier > last_ && barrier[-1].checks >= changed) --barrier;
    return false;
}

void context_finder::number_frame(rule_cache::numbered_rule& found, std::uintptr_t return_address) noexcept {
    const bool is_generated = found.rule.kind == frame_rule::no_module;
    found.set_number(number_of(is_generated ? std::uintptr_t{context_tree::generated} : return_address));
}

// Takes the frames of this walk, which lie inside the unchanged ones of the last walk, and the words that lead from
// each to the frame outside of it.
[[gnu::always_inline]] inline void context_finder::take_fresh(unsigned joined, unsigned depth) noexcept {
    bool needs_bp = joined != 0 && last_[joined - 1].needs_bp;
    const walked_frame* outer = last_ + joined - 1;
    for (walked_frame* to = last_ + joined; depth-- > 0; outer = to++) {
        const fresh_frame& f = walks_->fresh[depth];
        needs_bp = f.uses_bp() || (f.what->rule.bp_rule == frame_rule::kept && needs_bp);
        std::uint32_t checks = 0;
        if (outer->stack != nowhere) [[likely]] {
            // Reads from the outside in: whether a word is the right one depends on those behind it.
            checks = outer->checks;
            const std::uintptr_t where = machine::return_slot(outer->stack, f.what->rule.returns);
            walks_->checks[checks++] = {where, word_at(where)};
            if (outer->needs_bp && outer->bp_slot != 0) walks_->checks[checks++] = {outer->bp_slot, outer->frame};
            if (const std::uintptr_t slot = f.cfa_slot(); slot != 0) [[unlikely]]
                walks_->checks[checks++] = {slot, outer->stack};
        }
        to->return_address = f.state.return_address;
        to->stack = f.state.stack;
        to->frame = f.state.frame;
        to->bp_slot = f.state.bp_slot;
        to->checks = checks;
        to->number = f.what->known_number();
        to->needs_bp = needs_bp;
        to->is_generated = f.what->rule.kind == frame_rule::no_module;
    }
}

// Makes the last walk that of this stack. Returns false if it cannot: a signal frame crosses the stack, or it is deeper
// than a walk can remember.
template <bool Numbered>
[[gnu::always_inline]] inline bool context_finder::walk(const call_site& site) noexcept {
    frame_state s{site.return_address, site.stack, site.frame, 0};
    walked_frame* met = last_ + last_count_;  // moves outward with the walk; the frame before it may be joined
    walked_frame* barrier = met;              // a word has changed behind all frames from here on
    fresh_frame* const fresh = walks_->fresh;
    unsigned depth = 0, joined = 0;
    bool is_cut = false;
    while (true) {
        while (met[-1].stack < s.stack) --met;
        if (met[-1].stack == s.stack && met <= barrier && met[-1].return_address == s.return_address &&
            (!met[-1].needs_bp || met[-1].frame == s.frame) && still_stands(met[-1], barrier)) {
            joined = static_cast<unsigned>(met - last_);
            if (last_->stack != nowhere || joined + depth > cut_depth_min) [[likely]]
                break;
            joined = 0;  // too little is left of a stack that was cut: walk on
            barrier = last_;
        }
        if (depth == depth_max) [[unlikely]] {
            is_cut = true;
            break;
        }
        fresh_frame& now = fresh[depth++];
        now.state = s;
        rule_cache::numbered_rule* const found = space_.rules.find_numbered(s.return_address, now.not_kept);
        now.what = found;
        if (Numbered && found->known_number() == 0) [[unlikely]]
            number_frame(*found, s.return_address);
        if (!step(s, found->rule)) [[unlikely]] {
            if (found->rule.kind == frame_rule::signal) return false;
            is_cut = found->rule.kind == frame_rule::unknown || found->rule.steps();
            break;
        }
        if (s.return_address < addresses_begin) [[unlikely]]
            break;
    }
    if (joined + depth >= last_max) [[unlikely]]
        return false;
    if (joined != 0) [[likely]] {
        // The frame pointer of the joined frame may have come another way than last time.
        last_[joined - 1].frame = s.frame;
        last_[joined - 1].bp_slot = s.bp_slot;
    }
    if (noded_ > joined) noded_ = joined;
    if (told_ > joined) told_ = joined;
    if (is_cut) [[unlikely]]
        last_[joined++] = {context_tree::cut, nowhere, 0, 0, 0, 0, 0, false, false};
    take_fresh(joined, depth);
    last_count_ = joined + depth;
    return true;
}

// Returns whether there is room for a walk; forgets the last one if its code may be gone.
[[gnu::always_inline]] inline bool context_finder::is_ready() noexcept {
    const std::uint32_t now = __atomic_load_n(&space_.generation, __ATOMIC_ACQUIRE);
    if (now != generation_) [[unlikely]] {
        drop_entries();
        last_count_ = noded_ = told_ = 0;
        generation_ = now;
    }
    return last_ != nullptr || start();
}

std::uint32_t context_finder::node_of_last() noexcept {
    std::uint32_t node = noded_ != 0 ? last_[noded_ - 1].node : 0;
    for (; noded_ < last_count_; ++noded_) last_[noded_].node = node = space_.tree.child(node, last_[noded_].address());
    return node;
}

std::uint32_t context_finder::find_by_walk(const call_site& site) noexcept {
    if (!is_ready()) return 0;
    if (!walk<false>(site)) return find_across_signal(site);
    const std::uint32_t node = node_of_last();
    if (node != 0 && may_remember()) remember(site, node);
    return node;
}

std::uint32_t context_finder::step_by_walk(const call_site& site) noexcept {
    --walks_left_;
    if (!is_ready()) return 0;
    return walk<true>(site) ? stepped : find_across_signal(site);
}

unsigned context_finder::last_walk(std::uintptr_t* return_addresses, unsigned max) const noexcept {
    unsigned depth = 0;
    for (unsigned i = last_count_; i-- > 0 && depth < max;) return_addresses[depth++] = last_[i].address();
    return depth;
}

// Walks a stack that a signal frame crosses, or that is too deep to remember, as a whole and keeps nothing.
std::uint32_t context_finder::find_across_signal(const call_site& site) noexcept {
    // These are not on the stack, because a signal handler's stack may have only two kilobytes.
    auto* const addresses = reinterpret_cast<std::uintptr_t*>(walks_->fresh);
    const unsigned depth = walk_whole(site, addresses, depth_max, [this](std::uintptr_t return_address) {
        return space_.rules.find(return_address);
    });
    std::uint32_t node = depth == depth_max ? space_.tree.child(0, context_tree::cut) : 0;
    for (unsigned i = depth; i-- > 0;) node = space_.tree.child(node, addresses[i]);
    last_count_ = noded_ = told_ = 0;
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
    // The innermost frame is the key itself; the words that lead to its callers follow, inner to outer.
    for (std::uint32_t i = last_[last_count_ - 1].checks; i-- > 0;)
        if (!depends_on(walks_->checks[i].address)) break;
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
    return walk_whole(site, return_addresses, max,
                      [](std::uintptr_t return_address) { return frame_rule::compute(return_address); });
}

}  // namespace millpond::preload
