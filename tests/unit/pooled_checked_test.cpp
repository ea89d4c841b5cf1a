// SPDX-License-Identifier: BSL-1.0
// pooled_checked_test: the reports of checked mode on pooled containers.
#include <gtest/gtest.h>

#include <list>
#include <millpond/container.hpp>
#include <vector>

#include "support/counted_upstream.hpp"
#include "support/recorded_misuses.hpp"

namespace millpond {
namespace {

static_assert(is_checked_mode);
using kinds = std::vector<misuse_kind>;

TEST(pooled_checked, nodes_are_guarded_from_the_first_one_on) {
    test::recorded_misuses found;
    pooled_list<std::uint64_t> list{1, 2, 3};
    volatile std::uint64_t* const second = &*std::next(list.begin());
    second[1] = 7;  // behind the node: seen now, or when the node goes
    list.erase(std::next(list.begin()));
    EXPECT_EQ(found.take(), kinds{misuse_kind::overrun});
}

TEST(pooled_checked, nodes_that_moved_past_the_adaptor_are_reported) {
    test::recorded_misuses found;
    using list = pooled_list<int>;
    list a{1, 2}, b{3}, c;
    static_cast<list::base&>(a).splice(a.begin(), static_cast<list::base&>(b));
    a.pop_front();
    EXPECT_EQ(found.take(), kinds{misuse_kind::other_allocator});
    static_cast<list::base&>(c).splice(c.begin(), static_cast<list::base&>(a));
    c.pop_front();
    EXPECT_EQ(found.take(), kinds{misuse_kind::foreign_pointer});
    c.pop_front();
    EXPECT_EQ(found.take(), kinds{misuse_kind::foreign_pointer});
}

TEST(pooled_checked, different_upstreams_are_reported) {
    test::recorded_misuses found;
    test::upstream_account one, other;
    using set = pooled_set<int, std::less<>, test::counted_upstream<int>>;
    set a(one), b(one), c(other);
    a.insert(1);
    b.merge(a);
    EXPECT_EQ(found.take(), kinds());
    c.merge(b);
    EXPECT_EQ(found.take(), kinds{misuse_kind::different_sources});
}

TEST(pooled_checked, joined_and_winked_containers_are_clean) {
    test::recorded_misuses found;
    {
        pooled_set<int> a, b;
        for (int n = 0; n < 100; ++n) a.insert(n), b.insert(n + 50);
        a.merge(b);
        b.insert(a.extract(120));
        b.clear();
        a.wink();
        for (int n = 0; n < 100; ++n) a.insert(n);
    }
    EXPECT_EQ(found.take(), kinds());
}

}  // namespace
}  // namespace millpond
