// SPDX-License-Identifier: BSL-1.0
// affinity and affine_groups: random streams against a model that keeps whole histories, and streams with known
// results.
#include "lab/attribution/affinity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "lab/attribution/affine_groups.hpp"

namespace millpond::attribution {
namespace {

// The literal definition: a visit is an object with the set of visits that were in the window at the same time.
class model {
  public:
    void begin(std::uint32_t id, std::uint64_t bytes, unsigned row) {
        objects_[id] = {serial_++, clock_, row};
        clock_ += std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16);
    }
    void touch(unsigned thread, std::uint32_t id) {
        std::list<std::size_t>& window = windows_[thread];
        const object& its = objects_.at(id);
        const auto known = std::find_if(window.begin(), window.end(),
                                        [&](std::size_t v) { return visits_[v].of.serial == its.serial; });
        if (known != window.end()) return window.splice(window.begin(), window, known);
        if (window.size() == affinity::window_objects) window.pop_back();
        visits_.push_back({its, {}});
        for (const std::size_t other : window) {
            visits_.back().met.push_back(other);
            visits_[other].met.push_back(visits_.size() - 1);
        }
        window.push_front(visits_.size() - 1);
    }
    std::uint64_t visits(unsigned row) const {
        return static_cast<std::uint64_t>(
            std::count_if(visits_.begin(), visits_.end(), [&](const visit& v) { return v.of.row == row; }));
    }
    affinity::met_visits met(unsigned a, unsigned b) const {
        affinity::met_visits sum;
        for (const visit& v : visits_) {
            if (v.of.row != a) continue;
            bool together = false, near = false;
            for (const std::size_t m : v.met) {
                const object& other = visits_[m].of;
                if (other.row != b) continue;
                together = true;
                const std::uint64_t low = std::min(v.of.birth, other.birth), high = std::max(v.of.birth, other.birth);
                near = near || high - low <= affinity::near_bytes;
            }
            sum.together += together;
            sum.near += near;
        }
        return sum;
    }

  private:
    struct object {
        std::uint64_t serial, birth;
        unsigned row;
    };
    struct visit {
        object of;
        std::vector<std::size_t> met;
    };

    std::uint64_t serial_ = 0, clock_ = 0;
    std::map<std::uint32_t, object> objects_;
    std::vector<visit> visits_;
    std::map<unsigned, std::list<std::size_t>> windows_;
};

// Compares with the model on subjects 0 to 4, of which 3, 0 and 4 have rows. Ids are used again, threads share objects.
void compare_with_model(std::uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    const std::vector<std::uint32_t> chosen{3, 0, 4};
    const auto row_of = [&](std::uint32_t subject) {
        return static_cast<unsigned>(std::find(chosen.begin(), chosen.end(), subject) - chosen.begin());
    };
    affinity ours(chosen);
    model literal;
    std::map<unsigned, affinity::window> windows;
    std::vector<std::uint32_t> subject_of;
    const std::uint64_t ids = 20 + below(150), threads = 1 + below(3);
    const auto begin = [&](std::uint32_t id) {
        subject_of[id] = static_cast<std::uint32_t>(below(5));
        const std::uint64_t bytes = below(100);
        ours.begin(id, bytes);
        literal.begin(id, bytes, row_of(subject_of[id]));
    };
    subject_of.resize(ids);
    for (std::uint32_t id = 0; id < ids; ++id) begin(id);
    for (int step = 0; step < 3000; ++step) {
        if (below(12) == 0) begin(static_cast<std::uint32_t>(below(ids)));
        const auto thread = static_cast<unsigned>(below(threads));
        const auto first = static_cast<std::uint32_t>(below(ids));
        const auto length = static_cast<std::uint32_t>(1 + below(4));
        for (std::uint32_t id = first; id < std::min<std::uint64_t>(first + length, ids); ++id) {
            ours.touch(windows[thread], id, subject_of[id]);
            literal.touch(thread, id);
        }
    }
    for (auto& [thread, window] : windows) ours.finish(window);
    for (unsigned a = 0; a <= ours.others(); ++a) {
        EXPECT_EQ(ours.visits(a), literal.visits(a));
        for (unsigned b = 0; b <= ours.others(); ++b) {
            EXPECT_EQ(ours.met(a, b).together, literal.met(a, b).together) << a << " " << b;
            EXPECT_EQ(ours.met(a, b).near, literal.met(a, b).near) << a << " " << b;
        }
    }
}

TEST(affinity, agrees_with_the_model) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) compare_with_model(seed);
}

// Allocates objects of two subjects alternately. `together`: reads them in pairs; otherwise reads one subject at a
// time.
affinity of_pairs(bool together, unsigned pairs = 1000) {
    affinity found({0, 1});
    affinity::window window;
    for (std::uint32_t id = 0; id < 2 * pairs; ++id) found.begin(id, 48);
    if (together) {
        for (std::uint32_t id = 0; id < 2 * pairs; ++id) found.touch(window, id, id % 2);
    } else {
        for (std::uint32_t id = 0; id < 2 * pairs; id += 2) found.touch(window, id, 0);
        for (std::uint32_t id = 1; id < 2 * pairs; id += 2) found.touch(window, id, 1);
    }
    found.finish(window);
    return found;
}

TEST(affinity, pairs_that_are_read_together_are_affine) {
    const affinity found = of_pairs(true);
    EXPECT_EQ(found.visits(0), 1000);
    EXPECT_EQ(found.met(0, 1).near, 1000);
    EXPECT_DOUBLE_EQ(strength(found, 0, 1), 1);
    EXPECT_EQ(affine_groups(found, {0, 1}), (std::vector<std::vector<std::uint32_t>>{{0, 1}}));
}

TEST(affinity, lists_that_are_read_separately_are_not_affine) {
    const affinity found = of_pairs(false);
    EXPECT_EQ(found.visits(0), 1000);
    EXPECT_LE(found.met(0, 1).together, affinity::window_objects);
    EXPECT_EQ(found.met(0, 1).near, 0);
    EXPECT_EQ(found.met(0, 0).near, 1000);  // in the order of allocation
    EXPECT_EQ(affine_groups(found, {0, 1}), (std::vector<std::vector<std::uint32_t>>{{0}, {1}}));
}

TEST(affinity, objects_that_stay_in_the_window_are_one_visit) {
    affinity found({0, 1});
    affinity::window window;
    found.begin(0, 16);
    for (std::uint32_t id = 1; id <= 500; ++id) {
        found.begin(id, 16);
        found.touch(window, 0, 0);
        found.touch(window, id, 1);
    }
    found.finish(window);
    EXPECT_EQ(found.visits(0), 1);
    EXPECT_EQ(found.visits(1), 500);
    EXPECT_EQ(found.met(1, 0).together, 500);
    EXPECT_EQ(found.met(1, 0).near, 16);  // 256 bytes
    EXPECT_EQ(affine_groups(found, {0, 1}).size(), 2);
}

TEST(affinity, an_id_that_is_used_again_is_another_object) {
    affinity found({0});
    affinity::window window;
    for (int i = 0; i < 3; ++i) {
        found.begin(7, 8);
        found.touch(window, 7, 0);
        found.touch(window, 7, 0);
    }
    found.finish(window);
    EXPECT_EQ(found.visits(0), 3);
}

TEST(affinity, counts_nothing_without_rows) {
    affinity found;
    affinity::window window;
    found.begin(1, 8);
    found.touch(window, 1, 0);
    found.finish(window);
    EXPECT_EQ(found.rows(), 0);
    EXPECT_EQ(found.visits(found.others()), 0);
}

TEST(affinity, takes_the_first_rows_of_too_many) {
    std::vector<std::uint32_t> many;
    for (std::uint32_t subject = 0; subject < 100; ++subject) many.push_back(99 - subject);
    affinity found(many);
    affinity::window window;
    for (std::uint32_t subject = 0; subject < 100; ++subject) {
        found.begin(subject, ~std::uint64_t{0});
        found.touch(window, subject, subject);
    }
    found.finish(window);
    EXPECT_EQ(found.rows(), affinity::rows_max);
    EXPECT_EQ(found.visits(0), 1);
    EXPECT_EQ(found.visits(found.others()), 100 - affinity::rows_max);
}

TEST(affine_groups, join_only_where_every_pair_is_affine) {
    // a and b are read together, b and c are, a and c never.
    affinity found({0, 1, 2});
    affinity::window window;
    std::uint32_t id = 0;
    for (int i = 0; i < 400; ++i) {
        for (const std::uint32_t first : {0u, 1u}) {
            found.begin(id, 48);
            found.touch(window, id++, first);
            found.begin(id, 48);
            found.touch(window, id++, first + 1);
            for (int far = 0; far < 40; ++far) {
                found.begin(id, 48);
                found.touch(window, id++, 9);
            }
        }
    }
    found.finish(window);
    EXPECT_GE(strength(found, 0, 1), strength_min);
    EXPECT_GE(strength(found, 1, 2), strength_min);
    EXPECT_EQ(strength(found, 0, 2), 0);
    EXPECT_EQ(affine_groups(found, {2, 1, 0}), (std::vector<std::vector<std::uint32_t>>{{2, 1}, {0}}));
    EXPECT_EQ(affine_groups(found, {5, 0}), (std::vector<std::vector<std::uint32_t>>{{5}, {0}}));
}

}  // namespace
}  // namespace millpond::attribution
