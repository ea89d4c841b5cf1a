// SPDX-License-Identifier: BSL-1.0
// cache_among_temporaries: allocates a cache's entries between short-lived texts, so that the cache lies on far more
// pages than it needs; then sweeps the cache again and again.
// By hand: a multipool for the cache.
#include <deque>
#include <list>
#include <string>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

struct entry {
    std::uint64_t key;
    std::uint64_t used_at;
    std::uint64_t value[3];
};

template <class Memory>
class result_cache {
  public:
    explicit result_cache(Memory& memory) : entries_(memory.template of<entry>(0)) {}

    [[gnu::noinline]] void add(std::uint64_t key, std::uint64_t value) {
        entries_.push_back(entry{key, 0, {value, value, value}});
    }
    [[gnu::noinline]] std::uint64_t sweep(std::uint64_t now) {
        std::uint64_t sum = 0;
        for (entry& one : entries_) {
            one.used_at = now;
            sum += one.value[0];
        }
        return sum;
    }

  private:
    std::list<entry, typename Memory::template allocator<entry>> entries_;
};

class work_in_progress {
  public:
    [[gnu::noinline]] std::uint64_t add(std::size_t length) {
        texts_.emplace_back(length, 'x');
        if (texts_.size() > 4000) texts_.pop_front();
        return texts_.front().size();
    }

  private:
    std::deque<std::string> texts_;
};

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    result_cache<Memory> cache(memory);
    random_numbers draw(3);
    std::uint64_t sum = 0;
    {
        work_in_progress work;
        for (std::uint64_t i = 0; i < 60'000; ++i) {
            for (std::uint64_t texts = 1 + draw.below(6); texts > 0; --texts) sum += work.add(30 + draw.below(200));
            cache.add(i, draw.below(1000));
        }
    }
    for (std::uint64_t i = 0; i < repeats; ++i) sum = sum * 31 + cache.sweep(i);
    return sum;
}

}  // namespace

const known_program cache_among_temporaries{"cache_among_temporaries", "a multipool for the cache", run<heap>,
                                            run<pools<multipool<>>>, 400};

}  // namespace millpond::suites
