// SPDX-License-Identifier: BSL-1.0
// Finds the kind of each miss and the subject that it counts for.
#include "lab/simulate/attributed_cache.hpp"

namespace millpond::simulate {

attributed_cache::attributed_cache(const host& system, line_walk lines, uint64_t sets, unsigned ways, replacement rule,
                                   uint64_t seed, bool is_split)
    : lines_(lines),
      cache_(system, sets, ways, rule, seed),
      is_split_(is_split),
      whole_(system, is_split ? sets * ways : 1),
      of_line_(system),
      of_subject_(system, 1),
      missed_(system) {}

namespace {

miss_kind kind_of(whole_lru::place was) {
    switch (was) {
        case whole_lru::place::cold:
            return miss_kind::cold;
        case whole_lru::place::flushed:
            return miss_kind::flushed;
        case whole_lru::place::inside:
            return miss_kind::conflict;
        case whole_lru::place::outside:
            break;
    }
    return miss_kind::capacity;
}

}  // namespace

attributed_cache::line_outcome attributed_cache::touch(uint64_t line, unsigned origin) {
    const whole_lru::place was = is_split_ ? whole_.use(line) : whole_lru::place::outside;
    line_outcome outcome;
    if (cache_.use(line)) return outcome;
    outcome.evicted = cache_.insert(line);
    note_eviction(outcome.evicted, origin);
    const miss_kind kind = is_split_ ? kind_of(was) : kind_of_unsplit(of_line_[line]);
    outcome.kind = static_cast<unsigned>(kind);
    if (kind == miss_kind::cold || kind == miss_kind::flushed) return outcome;
    const line_state* const state = of_line_.find(line);
    outcome.is_indirect = origin == millpond_of_program && state != nullptr && state->evictor == by_allocator;
    return outcome;
}

void attributed_cache::note_eviction(uint64_t line, unsigned origin) {
    if (line != no_line) of_line_[line].evictor = origin == millpond_of_allocator ? by_allocator : 0;
}

miss_kind attributed_cache::kind_of_unsplit(line_state& state) const {
    const uint32_t before = state.seen;
    state.seen = flushes_ + 1;
    if (before == 0) return miss_kind::cold;
    return before == state.seen ? miss_kind::replacement : miss_kind::flushed;
}

void attributed_cache::take(const reference* batch, size_t count) {
    const auto nothing = [](uint64_t, const line_outcome&) {};
    if (!is_split_ && cache_.ways() == 1) return take_directly(batch, count);
    for (size_t i = 0; i < count; ++i) take_one(batch[i], nothing);
}

void attributed_cache::take_directly(const reference* batch, size_t count) {
    const auto nothing = [](uint64_t, const line_outcome&) {};
    missed_.grow(count);
    const line_walk walk = lines_;
    const set_cache::only_ways only_way = cache_.direct();
    miss* const missed = missed_.data();
    size_t misses = 0;
    const reference* begin = batch;  // of those that count for one subject and origin
    for (size_t i = 0; i < count; ++i) {
        const reference& r = batch[i];
        if (r.subject != begin->subject || r.origin != begin->origin) {
            count_references(begin, &r);
            begin = &r;
        }
        if (__builtin_expect(!walk.is_within_one(r), 0)) {
            count_misses(misses);
            misses = 0;
            count_references(begin, &r);
            begin = &r + 1;
            take_one(r, nothing);
            continue;
        }
        const uint64_t line = walk.first(r);
        uint64_t& way = only_way(line);
        missed[misses] = {way, &r};
        misses += way != line;
        way = line;
    }
    count_references(begin, batch + count);
    count_misses(misses);
    latest_ = no_line;
}

// Counts references of one subject and origin.
void attributed_cache::count_references(const reference* begin, const reference* end) {
    if (begin != end) counts_of(*begin).references[origin_of(*begin)] += static_cast<uint64_t>(end - begin);
}

// Counts the first misses of the list, and keeps what later ones ask of their lines.
void attributed_cache::count_misses(size_t count) {
    constexpr size_t ahead = 8;
    for (size_t i = 0; i < count; ++i) {
        if (i + ahead < count) {
            of_line_.prefetch(lines_.first(*missed_[i + ahead].by));
            of_line_.prefetch(missed_[i + ahead].evicted);
        }
        const reference& r = *missed_[i].by;
        const unsigned origin = origin_of(r);
        note_eviction(missed_[i].evicted, origin);
        line_state& state = of_line_[lines_.first(r)];
        const miss_kind kind = kind_of_unsplit(state);
        counts& own = counts_of(r);
        ++own.misses[origin][static_cast<unsigned>(kind)];
        own.indirect +=
            kind == miss_kind::replacement && origin == millpond_of_program && state.evictor == by_allocator;
    }
}

void attributed_cache::flush() {
    cache_.flush();
    whole_.flush();
    ++flushes_;
    latest_ = no_line;
}

attributed_cache::counts attributed_cache::total() const {
    counts sum{};
    for (size_t subject = 0; subject < of_subject_.size(); ++subject) {
        const counts& own = of_subject_[subject];
        for (unsigned origin = 0; origin < origins; ++origin) {
            sum.references[origin] += own.references[origin];
            for (unsigned kind = 0; kind < kinds; ++kind) sum.misses[origin][kind] += own.misses[origin][kind];
        }
        sum.indirect += own.indirect;
    }
    return sum;
}

void attributed_cache::tell(const report& to) const {
    static constexpr const char* names[kinds] = {"cold", "flushed", "capacity", "conflict", "replacement"};
    const auto row = [&](const char* metric, uint64_t value, uint32_t origin, uint32_t subject) {
        if (value == 0) return;
        count_row one = count_of(metric, "references", value);
        one.sets = cache_.sets();
        one.ways = cache_.ways();
        one.line_bytes = lines_.line_bytes();
        one.cache_bytes = one.sets * one.ways * one.line_bytes;
        one.origin = origin;
        one.subject = subject;
        to(one);
    };
    const auto rows = [&](const counts& own, uint32_t subject) {
        for (uint32_t origin = 0; origin < origins; ++origin) {
            row("references", own.references[origin], origin, subject);
            for (unsigned kind = 0; kind < kinds; ++kind) row(names[kind], own.misses[origin][kind], origin, subject);
        }
        row("indirect", own.indirect, millpond_of_program, subject);
    };
    rows(total(), any);
    for (uint32_t subject = 0; subject < of_subject_.size(); ++subject) rows(of_subject_[subject], subject);
}

}  // namespace millpond::simulate
