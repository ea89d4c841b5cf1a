// SPDX-License-Identifier: BSL-1.0
// locality: Benchmark II of P0089R0, section 8: a long-running system of subsystems, each of them a linked list.
//
//   system ─▶ │S│S│S│…│   each new-ed in turn: allocator, list of |S| links        k = |G| / |S| of them
//   shuffle   each S in turn: pop its first, push a new number to the end of an S drawn from all; |sf| × |G| such pairs
//   access    rf times: each S in turn: af times: every number in the list, incremented
//
// The paper's `-21 18 8 +3 32` is log2_g 21, log2_s 18, af 8, sf 3, rf 32, and its `10000000 1000 10 +5 1` is links
// 10000000, links_each 1000, af 10, sf 5, rf 1; with a negative sf, the access comes before the shuffle. The paper
// counts the time of everything after construction; with af 0 or rf 0, it subtracts the shuffle. The measured window is
// only the access: times, counters and page faults cover it, and the shuffle has its own time. So a shuffle that would
// follow the access is left out. Resident memory covers everything. A list that is empty when its turn comes is
// skipped. "Accessing" increments, so that no visit can be left out.
//
// A visit, by walk:             lists              every link, af times, as the document says
//                               links              af × |S| links, over the end to the first again, whatever the length
//                               links_unbranched   the same, by no branch that depends on a link
// The authors' own program walks by links: with |S| = 1, af 1 follows no link; af 2 follows one link, unless it is the
// end, which a branch decides. With chained, a visit cannot begin before the last one's link has arrived.
#include <algorithm>
#include <bit>
#include <iterator>

#include "lab/suites/common/hidden.hpp"
#include "lab/suites/common/list_system.hpp"
#include "lab/suites/frame/window.hpp"
#include "pools.hpp"
#include "workload.hpp"

namespace millpond::p0089 {
namespace {

enum class walk : unsigned char { lists, links, links_unbranched };
constexpr std::string_view walks[] = {"lists", "links", "links_unbranched"};

constexpr parameter parameters[] = {
    {"log2_g", 21, 0, 30, "links in the whole system, |G|"},
    {"log2_s", 18, 0, 30, "links of a subsystem at first, |S|"},
    {"links", 0, 0, 1 << 30, "|G| as a number of links; 0: 2^log2_g"},
    {"links_each", 0, 0, 1 << 30, "|S| as a number of links; 0: 2^log2_s"},
    {"af", 8, 0, 1 << 20, "access factor: traversals of a list before the next one's turn"},
    {"sf", 5, -1024, 1024,
     "shuffle factor: pairs of pop and push for each link; negative: only the access before them"},
    {"rf", 32, 0, 1 << 20, "repeat factor: traversals of the whole system"},
    {"walk", 0, 0, 2, "what a visit to a list is: all of it, af times, or af * |S| links of it", walks},
    {"chained", 0, 0, 1, "whether a visit has to wait for what the last one read"},
    {"subtracted", 0, 0, 1, "whether as many visits without a link are taken off the time, as in the document"},
    frame::seed_parameter,
};

constexpr metric metrics[] = {"shuffle_seconds", "access_seconds"};

// The number of links in all (|G|), and in each subsystem (|S|).
std::uint64_t links_of(const point& asked) {
    return asked["links"] != 0 ? asked.count("links") : asked.power("log2_g");
}
std::uint64_t links_each_of(const point& asked) {
    return asked["links_each"] != 0 ? asked.count("links_each") : asked.power("log2_s");
}

template <class C>
struct subsystem : suites::list_subsystem<C> {
    using typename suites::list_subsystem<C>::list;
    using suites::list_subsystem<C>::list_subsystem, suites::list_subsystem<C>::numbers;

    // Each function returns the number that it wrote last, or 0.
    [[gnu::noinline]] unsigned access_lists(std::uint64_t times) {
        unsigned last = 0;
        for (std::uint64_t n = 0; n < times; ++n) {
            for (int& number : numbers) last = increment(number);
        }
        return last;
    }
    [[gnu::noinline]] unsigned access_links(std::uint64_t count) {
        if (numbers.empty()) return 0;
        unsigned last = 0;
        auto at = numbers.begin();
        for (std::uint64_t n = 0; n < count; ++n) {
            if (at == numbers.end()) at = numbers.begin();
            last = increment(*at);
            ++at;
        }
        return last;
    }
    [[gnu::noinline]] unsigned access_unbranched(std::uint64_t count) {
        if (numbers.empty()) return 0;
        using place = typename list::iterator;
        using bits = std::uintptr_t;
        static_assert(sizeof(place) == sizeof(bits));
        const bits first = std::bit_cast<bits>(numbers.begin());
        const bits end = std::bit_cast<bits>(numbers.end());
        unsigned last = 0;
        bits at = first;
        for (std::uint64_t n = 0; n < count; ++n) {
            const place here = std::bit_cast<place>(at);
            last = increment(*here);
            at = std::bit_cast<bits>(std::next(here));
            // All ones at the end. Hidden, because the compiler would make a branch of it.
            const bits around = suites::hidden(bits{0} - bits{at == end});
            at ^= (at ^ first) & around;
        }
        return last;
    }

  private:
    static unsigned increment(int& number) noexcept {
        const unsigned next = static_cast<unsigned>(number) + 1;
        number = static_cast<int>(next);
        return next;
    }
};

template <class C>
class many_subsystems : public suites::list_system<subsystem<C>> {
  public:
    using suites::list_system<subsystem<C>>::list_system, suites::list_system<subsystem<C>>::size;

    // `each`: traversals or links in a visit. `times`: visits of every subsystem.
    void access(walk by, bool chained, std::uint64_t each, std::uint64_t times) {
        using one = subsystem<C>;
        switch (by) {
            case walk::lists:
                return access_by<&one::access_lists>(chained, each, times);
            case walk::links:
                return access_by<&one::access_links>(chained, each, times);
            case walk::links_unbranched:
                return access_by<&one::access_unbranched>(chained, each, times);
        }
    }

    // Returns: the number of lists that are not empty.
    [[nodiscard]] std::uint64_t filled() {
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < size(); ++i) count += !(*this)[i].numbers.empty();
        return count;
    }

  private:
    template <auto Visit>
    void access_by(bool chained, std::uint64_t each, std::uint64_t times) {
        for (std::uint64_t n = 0; n < times; ++n) {
            if (chained) {
                access_chained<Visit>(each);
            } else {
                for (std::size_t i = 0; i < size(); ++i) ((*this)[i].*Visit)(each);
            }
        }
    }

    // The next subsystem depends on the value read: it is added, times a zero unknown to the compiler and processor.
    template <auto Visit>
    void access_chained(std::uint64_t each) {
        const std::size_t zero = suites::hidden(std::size_t{0});
        std::size_t read = 0;
        for (std::size_t i = 0; i < size(); ++i) read = ((*this)[i + read * zero].*Visit)(each);
    }
};

template <class C>
struct locality_runner {
    static outcome run(const point& asked) {
        const std::uint64_t links = links_of(asked);
        const std::uint64_t links_each = links_each_of(asked);
        const bool shuffled = asked["sf"] >= 0;
        const auto traversals = asked.is_for_littering ? 0 : static_cast<std::uint64_t>(asked["af"]);
        const walk how = static_cast<walk>(asked["walk"]);
        const std::uint64_t each = traversals * (how == walk::lists ? 1 : links_each);
        const auto times = asked.is_for_littering ? 0 : static_cast<std::uint64_t>(asked["rf"]);
        outcome result;
        frame::window measured;
        many_subsystems<C> system(links / links_each, links_each, asked.seed());
        double access_ns = 0;
        if (shuffled) {
            const suites::stopwatch pairs;
            system.shuffle(static_cast<std::uint64_t>(asked["sf"]) * links);
            result.set("shuffle_seconds", pairs.elapsed_ns() * 1e-9);
        }
        measured.run(result, [&] {
            const suites::stopwatch visits;
            system.access(how, asked["chained"] != 0, each, times);
            access_ns = visits.elapsed_ns();
            if (asked["subtracted"] != 0) {
                const suites::stopwatch empty_handed;
                system.access(how, asked["chained"] != 0, 0, times);
                access_ns -= empty_handed.elapsed_ns();
            }
        });
        measured.set_resident(result);
        result.checksum = system.checksum();
        // Lists that shuffling left empty have no link to walk to.
        const std::uint64_t lists = shuffled ? system.filled() : links / links_each;
        result.set_count("units", times * each * (how == walk::lists ? links : lists));
        result.set("access_seconds", access_ns * 1e-9);
        return result;
    }
};

outcome run(const point& asked) { return chosen<locality_runner, by_made_base<small_base_pool>>(by(asked))(asked); }

std::string misfit(const point& asked) {
    if (links_each_of(asked) > links_of(asked))
        return asked["links"] == 0 && asked["links_each"] == 0
                   ? "log2_s must not be above log2_g: a subsystem is a part of the system"
                   : "links_each must not be above links: a subsystem is a part of the system";
    return {};
}

// A link is two pointers and a number. monotonic never reuses one. Each pool of Millpond's begins with a chunk of 1
// KiB, and so does the monotonic beneath one of 2015.
std::uint64_t least_bytes(const point& asked) {
    constexpr std::uint64_t link_bytes = 24;
    constexpr std::uint64_t first_chunk_bytes = 1024;
    const pool_kind pool = by(asked).pool;
    const std::uint64_t factor = asked["sf"] < 0 ? 0 : asked.count("sf");
    const std::uint64_t times = pool == pool_kind::monotonic ? 1 + factor : 1;
    const std::uint64_t subsystems = links_of(asked) / links_each_of(asked);
    const bool has_chunks =
        by(asked).is_local() && pool != pool_kind::multipool_2015 && pool != pool_kind::locked_multipool_2015;
    return std::max(times * links_of(asked) * link_bytes, has_chunks ? subsystems * first_chunk_bytes : 0);
}

}  // namespace

const workload locality{.name = "locality",
                        .unit = "access",
                        .parameters = parameters,
                        .metrics = metrics,
                        .takes = takes_what_destroys,
                        .run = run,
                        .misfit = misfit,
                        .least_bytes = least_bytes};

}  // namespace millpond::p0089
