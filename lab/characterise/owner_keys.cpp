// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/owner_keys.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "lab/trace/format.h"
#include "preload/word_position.hpp"

namespace millpond::characterise {
namespace {

constexpr unsigned positions = preload::word_position::count;
constexpr std::uint64_t stack_bytes_max = std::uint64_t{64} << 20;

// The words before one allocation. 0: no word at this position.
struct sample {
    std::array<std::uint64_t, positions> words{};
    std::uint64_t stack = 0;
    bool has_words = false;
};

// The values of one word at all samples of a site.
struct column {
    std::unordered_map<std::uint64_t, std::uint64_t> counts;
    std::uint64_t last = 0, turns = 0, strays = 0;
    bool given_up = false;

    void add(std::uint64_t word, std::uint64_t samples_so_far) {
        if (given_up) return;
        if (word == 0) {
            ++strays;
        } else {
            ++counts[word];
            turns += word != last;
            last = word;
        }
        // Many owners that begin at once look, for a while, like values that do not repeat.
        constexpr std::uint64_t samples_enough = 16384;
        const bool seldom_repeats = 2 * counts.size() > samples_so_far;
        if (counts.size() > 4 * owner_keys::owners_max || (samples_so_far >= samples_enough && seldom_repeats))
            give_up();
    }
    void give_up() {
        given_up = true;
        counts = {};
    }
    [[nodiscard]] std::size_t owners() const {
        return static_cast<std::size_t>(std::count_if(
            counts.begin(), counts.end(), [](const auto& each) { return each.second >= owner_keys::repeats_min; }));
    }
    // Decides by the values only.
    [[nodiscard]] bool may_be_key(std::uint64_t samples) const {
        if (given_up) return false;
        const std::size_t found = owners();
        if (found < owner_keys::owners_min || found > owner_keys::owners_max) return false;
        std::uint64_t rare = 0;
        for (const auto& [word, count] : counts) rare += count < owner_keys::repeats_min ? count : 0;
        const auto few = owner_keys::strays_max * static_cast<double>(samples);
        return static_cast<double>(rare) <= few && static_cast<double>(strays) <= few &&
               static_cast<double>(turns) >= owner_keys::turns_min * static_cast<double>(samples);
    }
};

struct site {
    std::uint32_t subsystem = 0;
    std::uint32_t module = 0;
    std::uint64_t offset = 0;
    std::uint64_t samples = 0;
    std::array<column, positions> columns;
};

// Combines the notes of a thread with the allocation that follows them.
class sampler {
  public:
    // Returns true if this event is an allocation with a sample; `taken` then holds it.
    bool take(const trace::event& e) {
        sample& open = open_[e.thread];
        if (e.op == trace::operation::note && e.bytes == mpt_note_word) {
            const auto position = static_cast<unsigned>(e.address & 31);
            const std::uint64_t word = e.address >> 5;
            if (position == positions) {
                open = {};
                open.has_words = true;
                open.stack = word;
            } else {
                open.words[position] = word;
            }
            return false;
        }
        if (e.op != trace::operation::allocate || !open.has_words) return false;
        taken = open;
        open.has_words = false;
        return true;
    }
    sample taken;

  private:
    std::unordered_map<std::uint32_t, sample> open_;
};

// Finds the watched words that lie inside of a live object.
class live_words {
  public:
    explicit live_words(std::vector<std::uint64_t> words) : words_(std::move(words)), alive_(words_.size()) {}

    void take(const trace::event& e) {
        if (words_.empty() || e.op == trace::operation::note) return;
        if (e.op == trace::operation::allocate || e.op == trace::operation::realloc_allocate) {
            const auto first = std::lower_bound(words_.begin(), words_.end(), e.address);
            const auto last = std::lower_bound(first, words_.end(), e.address + std::max<std::uint64_t>(e.bytes, 1));
            if (first == last) return;
            const range inside{index_of(first), index_of(last)};
            objects_[e.address] = inside;
            set(inside, true);
        } else if (const auto found = objects_.find(e.address); found != objects_.end()) {
            set(found->second, false);
            objects_.erase(found);
        }
    }
    [[nodiscard]] bool is_alive(std::uint64_t word) const {
        const auto found = std::lower_bound(words_.begin(), words_.end(), word);
        return found != words_.end() && *found == word && alive_[index_of(found)] != 0;
    }

  private:
    struct range {
        std::size_t first, last;
    };
    [[nodiscard]] std::size_t index_of(std::vector<std::uint64_t>::const_iterator at) const {
        return static_cast<std::size_t>(at - words_.begin());
    }
    void set(const range& inside, bool alive) {
        for (std::size_t i = inside.first; i < inside.last; ++i) alive_[i] = alive;
    }

    std::vector<std::uint64_t> words_;
    std::vector<char> alive_;
    std::unordered_map<std::uint64_t, range> objects_;
};

class sites {
  public:
    sites(const trace::reader& reader, const symbols::subsystem_map& subsystems)
        : reader_(reader), subsystems_(subsystems) {}

    site& of(std::uint32_t context) {
        const trace::context_node& node = reader_.contexts()[context];
        const std::uint32_t subsystem = subsystems_.subsystem_of(context);
        site& found = all_[{subsystem, node.module, node.offset}];
        found.subsystem = subsystem;
        found.module = node.module;
        found.offset = node.offset;
        return found;
    }
    auto& all() { return all_; }

    // Returns whether the word is an address of the thread's stack, or of a module, which needs no live object.
    [[nodiscard]] bool is_static(std::uint64_t word, std::uint64_t stack) const {
        if (word >= stack && word - stack < stack_bytes_max) return true;
        return std::any_of(reader_.modules().begin(), reader_.modules().end(),
                           [&](const trace::module_record& m) { return word >= m.first && word < m.last; });
    }

  private:
    const trace::reader& reader_;
    const symbols::subsystem_map& subsystems_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, site> all_;
};

// Drops the keys whose values are not addresses of anything alive.
void check_values(trace::reader& reader, sites& found) {
    std::vector<std::uint64_t> watched;
    for (auto& [where, at] : found.all()) {
        for (column& each : at.columns) {
            if (!each.may_be_key(at.samples)) {
                each.give_up();
                continue;
            }
            each.strays = 0;
            for (const auto& [word, count] : each.counts) watched.push_back(word);
        }
    }
    if (watched.empty()) return;
    std::sort(watched.begin(), watched.end());
    watched.erase(std::unique(watched.begin(), watched.end()), watched.end());
    live_words alive(std::move(watched));
    sampler words;
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const trace::event& e = batch[i];
            if (words.take(e) && e.context != 0) {
                site& at = found.of(e.context);
                for (unsigned p = 0; p < positions; ++p) {
                    column& each = at.columns[p];
                    const std::uint64_t word = words.taken.words[p];
                    if (each.given_up || word == 0) continue;
                    each.strays += !alive.is_alive(word) && !found.is_static(word, words.taken.stack);
                }
            }
            alive.take(e);
        }
    });
    for (auto& [where, at] : found.all())
        for (column& each : at.columns)
            if (static_cast<double>(each.strays) > owner_keys::strays_max * static_cast<double>(at.samples))
                each.give_up();
}

}  // namespace

owner_keys::owner_keys(trace::reader& reader, const symbols::subsystem_map& subsystems) {
    sites found(reader, subsystems);
    sampler words;
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            if (!words.take(batch[i]) || batch[i].context == 0) continue;
            site& at = found.of(batch[i].context);
            ++at.samples;
            ++samples_of_[at.subsystem];
            for (unsigned p = 0; p < positions; ++p) at.columns[p].add(words.taken.words[p], at.samples);
        }
    });
    check_values(reader, found);
    for (const auto& [where, at] : found.all()) {
        const column* best = nullptr;
        for (const column& each : at.columns)
            if (!each.given_up && (best == nullptr || each.owners() > best->owners())) best = &each;
        if (best == nullptr) continue;
        const auto position = static_cast<unsigned>(best - at.columns.data());
        keys_[at.subsystem].push_back({at.module, at.offset, position, best->owners(), at.samples});
    }
}

const std::vector<owner_key>& owner_keys::keys_of(std::uint32_t subsystem) const {
    static const std::vector<owner_key> none;
    const auto found = keys_.find(subsystem);
    return found == keys_.end() ? none : found->second;
}

double owner_keys::share_of(std::uint32_t subsystem) const {
    const auto all = samples_of_.find(subsystem);
    if (all == samples_of_.end()) return 0;
    std::uint64_t keyed = 0;
    for (const owner_key& each : keys_of(subsystem)) keyed += each.samples;
    return static_cast<double>(keyed) / static_cast<double>(all->second);
}

}  // namespace millpond::characterise
