// SPDX-License-Identifier: BSL-1.0
// literal_run: a model of attributed_run that counts byte by byte, without data structures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace millpond::test {

struct literal_object {
    std::uint64_t address, bytes;
    std::uint32_t subject;
    std::set<std::uint64_t> touched;  // addresses
};

struct literal_counts {
    std::uint64_t references = 0, misses = 0, transitions = 0;
    std::uint64_t lines = 0, packed_bytes = 0, fetched = 0, useful = 0;
    std::set<std::uint64_t> lines_touched;
};

class literal_run {
  public:
    literal_run(std::uint64_t sets, unsigned ways) : ways_(ways), sets_(sets) {}

    void allocate(std::uint64_t address, std::uint64_t bytes, std::uint32_t subject) {
        std::erase_if(live_, [&](const literal_object& each) {
            return each.address == address || (address < each.address + each.bytes && each.address < address + bytes);
        });
        live_.push_back({address, bytes, subject, {}});
    }
    void free(std::uint64_t address) {
        std::erase_if(live_, [&](const literal_object& each) { return each.address == address; });
    }

    // A reference of the program; `elsewhere` is the subject of what is no object.
    void take(std::uint32_t thread, std::uint64_t address, std::uint64_t bytes, std::uint32_t elsewhere) {
        literal_object* const in = find(address);
        const std::uint32_t subject = in == nullptr ? elsewhere : in->subject;
        literal_counts& own = of_[subject];
        ++own.references;
        if (in != nullptr) {
            std::optional<std::uint32_t>& latest = latest_[thread];
            if (latest && *latest != subject) ++of_[*latest].transitions;
            latest = subject;
            const std::uint64_t end = std::min(address + bytes, in->address + in->bytes);
            for (std::uint64_t at = address; at < end; ++at) {
                in->touched.insert(at);
                own.lines_touched.insert(at / 64);
            }
            measure(subject);
        }
        go_through_cache(address, bytes, subject);
    }

    void finish() {
        for (auto& set : sets_) {
            for (const line& each : set) settle(each);
            set.clear();
        }
    }
    const literal_counts& of(std::uint32_t subject) { return of_[subject]; }

  private:
    struct line {
        std::uint64_t number;
        std::uint32_t fetched_by;
        std::set<std::uint64_t> used;
    };

    literal_object* find(std::uint64_t address) {
        for (literal_object& each : live_) {
            if (address >= each.address && address - each.address < each.bytes) return &each;
        }
        return nullptr;
    }
    void measure(std::uint32_t subject) {
        std::set<std::uint64_t> lines;
        std::uint64_t bytes = 0;
        for (const literal_object& each : live_) {
            if (each.subject != subject) continue;
            bytes += each.touched.size();
            for (const std::uint64_t at : each.touched) lines.insert(at / 64);
        }
        literal_counts& own = of_[subject];
        if (lines.size() > own.lines) own.packed_bytes = 0;
        own.lines = std::max<std::uint64_t>(own.lines, lines.size());
        if (lines.size() == own.lines) own.packed_bytes = std::max(own.packed_bytes, bytes);
    }
    void go_through_cache(std::uint64_t address, std::uint64_t bytes, std::uint32_t subject) {
        bool missed = false;
        const std::uint64_t last = address + (bytes == 0 ? 0 : bytes - 1);
        for (std::uint64_t number = address / 64; number <= last / 64; ++number) {
            std::list<line>& set = sets_[number % sets_.size()];
            auto at = std::find_if(set.begin(), set.end(), [&](const line& each) { return each.number == number; });
            if (at == set.end()) {
                missed = true;
                if (set.size() == ways_) {
                    settle(set.back());
                    set.pop_back();
                }
                set.push_front({number, subject, {}});
                at = set.begin();
            }
            set.splice(set.begin(), set, at);
            for (std::uint64_t b = address; b < address + bytes; ++b) {
                if (b / 64 == number) set.front().used.insert(b);
            }
        }
        of_[subject].misses += missed;
    }
    void settle(const line& each) {
        of_[each.fetched_by].fetched += 64;
        of_[each.fetched_by].useful += each.used.size();
    }

    unsigned ways_;
    std::vector<std::list<line>> sets_;
    std::vector<literal_object> live_;
    std::map<std::uint32_t, literal_counts> of_;
    std::map<std::uint32_t, std::optional<std::uint32_t>> latest_;
};

}  // namespace millpond::test
