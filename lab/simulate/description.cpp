// SPDX-License-Identifier: BSL-1.0
// Parses descriptions, and checks the values that each kind of simulator needs.
#include "lab/simulate/description.hpp"

#include "lab/program/model_page.hpp"
#include "lab/simulate/direct_mapped_bank.hpp"
#include "lab/simulate/lru_family.hpp"

namespace millpond::simulate {
namespace {

// Limit on the lines of all caches of a description together: 8 GiB of tags.
constexpr uint64_t lines_max = uint64_t{1} << 30;

// Skips `word` if the text goes on with it.
bool skip(const char*& text, const char* word) {
    const char* at = text;
    for (; *word != '\0'; ++word, ++at) {
        if (*at != *word) return false;
    }
    text = at;
    return true;
}

bool number(const char*& text, uint64_t& value) {
    if (*text < '0' || *text > '9') return false;
    value = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        if (value >= uint64_t{1} << 50) return false;
        value = value * 10 + static_cast<uint64_t>(*text - '0');
    }
    unsigned shift = 0;
    if (*text == 'K' || *text == 'k') shift = 10;
    if (*text == 'M' || *text == 'm') shift = 20;
    if (*text == 'G' || *text == 'g') shift = 30;
    if (shift == 0) return true;
    ++text;
    if (value >> (60 - shift) != 0) return false;
    value <<= shift;
    return true;
}

bool numbers_of(const char*& text, description::numbers& into) {
    into.count = 0;
    for (;;) {
        if (into.count == description::numbers_max || !number(text, into.of[into.count])) return false;
        ++into.count;
        if (*text != '/' && *text != '-') return true;
        ++text;
    }
}

bool is_power(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

template <class Value, size_t Count>
bool one_of(const char*& text, const char* const (&words)[Count], Value& into) {
    for (size_t i = 0; i < Count; ++i) {
        if (!skip(text, words[i])) continue;
        into = static_cast<Value>(i);
        return true;
    }
    return false;
}

constexpr const char* kinds[] = {"direct",  "lru",    "fifo", "random",     "distances",
                                 "sampled", "levels", "tlb",  "attributed", "contents"};
constexpr const char* inclusions[] = {"inclusive", "exclusive", "independent"};
constexpr const char* write_misses[] = {"allocate", "around"};
constexpr const char* no_or_yes[] = {"no", "yes"};
constexpr const char* replacements[] = {"lru", "fifo", "random"};

const char* parse_pair(const char*& text, description& into) {
    constexpr const char* wrong = "a value is no number, or out of range";
    if (skip(text, "inclusion="))
        return one_of(text, inclusions, into.inclusive) ? nullptr : "inclusion is inclusive, exclusive or independent";
    if (skip(text, "replacement="))
        return one_of(text, replacements, into.rule) ? nullptr : "replacement is lru, fifo or random";
    if (skip(text, "write=")) return one_of(text, write_misses, into.write) ? nullptr : "write is allocate or around";
    if (skip(text, "split=")) return one_of(text, no_or_yes, into.is_split) ? nullptr : "split is no or yes";
    if (skip(text, "line=") || skip(text, "page=")) return numbers_of(text, into.line) ? nullptr : wrong;
    if (skip(text, "size=") || skip(text, "entries=")) return numbers_of(text, into.size) ? nullptr : wrong;
    if (skip(text, "sets=")) return numbers_of(text, into.sets) ? nullptr : wrong;
    if (skip(text, "ways=")) return numbers_of(text, into.ways) ? nullptr : wrong;
    if (skip(text, "seed=")) return numbers_of(text, into.seed) ? nullptr : wrong;
    if (skip(text, "one_in=")) return numbers_of(text, into.one_in) ? nullptr : wrong;
    return "it has a key that is not known";
}

void set_default(description::numbers& numbers, uint64_t value) {
    if (numbers.count != 0) return;
    numbers.of[0] = value;
    numbers.count = 1;
}

const char* check_direct(const description& d) {
    if (d.size.count == 0) return "direct needs size=BYTES/…";
    uint64_t lines = 0;
    for (size_t i = 0; i < d.size.count; ++i) {
        if (d.size.of[i] == 0 || d.size.of[i] % d.line.of[0] != 0) return "a size is no multiple of the line";
        if (i > 0 && d.size.of[i] <= d.size.of[i - 1]) return "sizes must ascend";
        lines += d.size.of[i] / d.line.of[0];
    }
    return lines > lines_max ? "its caches have too many lines" : nullptr;
}

const char* check_lru(description& d) {
    if (d.sets.count == 1) {
        d.sets.of[1] = d.sets.of[0];
        d.sets.count = 2;
    }
    if (d.sets.count != 2 || !is_power(d.sets.of[0]) || !is_power(d.sets.of[1]) || d.sets.of[0] > d.sets.of[1])
        return "lru needs sets=FROM-TO, powers of two";
    if (d.ways.count != 1 || d.ways.of[0] == 0 || d.ways.of[0] > lru_family::ways_max)
        return "lru needs ways=N, 1 to 64";
    if (d.sets.of[1] / d.sets.of[0] >> (lru_family::set_counts_max - 1) > 1) return "it has more than 24 set counts";
    return 2 * d.sets.of[1] * (d.ways.of[0] + 7) > lines_max ? "its caches have too many lines" : nullptr;
}

// Computes sets from sizes and ways; a size is in bytes, or in entries of translation buffers.
const char* check_shapes(description& d, size_t levels_max) {
    if (d.size.count == 0 || d.size.count > levels_max)
        return "it needs a size (a tlb: entries) for each level, 4 at most";
    if (d.ways.count != d.size.count) return "it needs ways for each size";
    const uint64_t unit = d.kind == simulator_kind::tlb ? 1 : d.line.of[0];
    uint64_t lines = 0;
    for (size_t i = 0; i < d.size.count; ++i) {
        const uint64_t ways = d.ways.of[i], all = d.size.of[i] / unit;
        if (ways == 0 || all == 0 || d.size.of[i] % unit != 0 || all % ways != 0)
            return "a size is no multiple of line x ways";
        d.shapes[i] = {all / ways, static_cast<unsigned>(ways)};
        lines += all;
    }
    return lines > lines_max ? "its caches have too many lines" : nullptr;
}

const char* check(description& d) {
    set_default(d.line, d.kind == simulator_kind::tlb ? program::model_page_bytes : 64);
    set_default(d.seed, 1);
    set_default(d.one_in, 100);
    if (d.line.count != 1 || !is_line_size(d.line.of[0]))
        return "a line or page is a power of two from 4 bytes to 1 GiB";
    if (d.seed.count != 1) return "there is one seed";
    if (d.write != write_miss::allocate && d.kind != simulator_kind::fifo && d.kind != simulator_kind::random)
        return "write=around is of fifo and random caches; direct-mapped is fifo with ways=1";
    if (!d.is_split && d.kind != simulator_kind::attributed) return "split=no is of attributed";
    switch (d.kind) {
        case simulator_kind::direct:
            return check_direct(d);
        case simulator_kind::lru:
            return check_lru(d);
        case simulator_kind::fifo:
            d.rule = replacement::fifo;
            return check_shapes(d, 1);
        case simulator_kind::random:
            d.rule = replacement::random;
            return check_shapes(d, 1);
        case simulator_kind::attributed:
        case simulator_kind::contents:
            return check_shapes(d, 1);
        case simulator_kind::levels:
        case simulator_kind::tlb:
            return check_shapes(d, hierarchy::levels_max);
        case simulator_kind::sampled:
            if (d.one_in.count != 1 || d.one_in.of[0] == 0 || d.one_in.of[0] > uint64_t{1} << 20)
                return "one_in is 1 to 1M";
            return nullptr;
        case simulator_kind::distances:
            return nullptr;
    }
    return nullptr;
}

}  // namespace

const char* parse(const char* text, description& into) {
    into = description();
    if (!one_of(text, kinds, into.kind) || (*text != ':' && *text != '\0'))
        return "it begins with direct, lru, fifo, random, distances, sampled, levels, tlb, attributed or contents, "
               "then a colon";
    while (*text != '\0') {
        ++text;  // the colon, or a comma
        if (const char* const wrong = parse_pair(text, into)) return wrong;
        if (*text != ',' && *text != '\0') return "its pairs KEY=VALUE are separated by commas";
    }
    return check(into);
}

}  // namespace millpond::simulate
