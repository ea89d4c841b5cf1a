// SPDX-License-Identifier: BSL-1.0
// The parts of routing that need no process: ranges, nodes and names.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lab/plan/near_names.hpp"
#include "lab/trial/context_router.hpp"
#include "lab/trial/routes.hpp"

namespace {

using namespace millpond::trial;
using millpond::plan::near_names;

// A routes file in memory: one module with these ranges.
class routes_in_memory {
  public:
    explicit routes_in_memory(const std::vector<route_range>& ranges) {
        routes_header header{};
        header.magic = routes_header::magic_value;
        header.version = routes_header::version_value;
        header.module_count = 1;
        header.range_count = static_cast<std::uint32_t>(ranges.size());
        header.modules_at = sizeof header;
        header.ranges_at = header.modules_at + sizeof(route_module);
        header.bytes = header.ranges_at + ranges.size() * sizeof(route_range);
        route_module module{};
        module.range_count = header.range_count;
        content_.resize(header.bytes);
        std::memcpy(content_.data(), &header, sizeof header);
        std::memcpy(content_.data() + header.modules_at, &module, sizeof module);
        if (!ranges.empty())
            std::memcpy(content_.data() + header.ranges_at, ranges.data(), ranges.size() * sizeof(route_range));
    }
    routes_view view() const { return routes_view(content_.data(), content_.size()); }

  private:
    std::vector<char> content_;
};

TEST(routes, the_range_of_an_address_is_that_of_a_linear_search) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int repetition = 0; repetition < 50; ++repetition) {
        std::vector<route_range> ranges;
        std::uint64_t address = random() % 100;
        for (std::size_t i = random() % 40; i > 0; --i) {
            address += random() % 30;
            const auto bytes = static_cast<std::uint32_t>(1 + random() % 50);
            ranges.push_back({address, bytes, static_cast<std::uint16_t>(i), frame_role::owner});
            address += bytes;
        }
        const routes_in_memory file(ranges);
        const routes_view view = file.view();
        for (std::uint64_t at = 0; at < address + 50; ++at) {
            const route_range* const found = view.find(view.modules()[0], at);
            const route_range* expected = nullptr;
            for (const route_range& r : ranges)
                if (at >= r.first && at < r.first + r.bytes) expected = &r;
            ASSERT_EQ(found == nullptr, expected == nullptr) << at;
            if (expected != nullptr) {
                ASSERT_EQ(found->pool, expected->pool) << at;
            }
        }
    }
}

TEST(routes, rejects_truncated_or_foreign_files) {
    const routes_in_memory file({{1, 1, 1, frame_role::owner}});
    std::vector<char> bytes(sizeof(routes_header));
    EXPECT_TRUE(routes_view(nullptr, 0).empty());
    EXPECT_TRUE(routes_view(bytes.data(), bytes.size()).empty());
    EXPECT_FALSE(file.view().empty());
    EXPECT_TRUE(routes_view(&file.view().header(), file.view().header().bytes - 1).empty());
}

TEST(context_router, without_routes_no_node_has_a_pool) {
    module_finder modules;
    modules.start({}, "");
    context_router router;
    EXPECT_EQ(router.pool_of(0), 0u) << "before the start";
    ASSERT_TRUE(router.start({}, modules));
    router.on_node(1, 0, reinterpret_cast<std::uintptr_t>(&std::memcpy) + 4);
    router.on_node(5'000'000, 1, 2);
    EXPECT_EQ(router.pool_of(1), 0u);
    EXPECT_EQ(router.pool_of(5'000'000), 0u) << "the table grew";
    EXPECT_EQ(router.pool_of(500'000'000), 0u) << "beyond the table";
}

TEST(near_names, misspellings_come_first_then_names_that_contain_it) {
    const std::vector<std::string> names = {"orders::book", "orders::bookkeeper", "customers", "Orders::Book", "order"};
    EXPECT_EQ(near_names("orders::bok", names, 1), (std::vector<std::string>{"Orders::Book"}));
    const auto near = near_names("book", names);
    EXPECT_EQ(near.size(), 3u);
    EXPECT_TRUE(near_names("something else entirely", names).empty());
    EXPECT_TRUE(near_names("", names).empty());
    EXPECT_TRUE(near_names("x", {}).empty());
}

}  // namespace
