// SPDX-License-Identifier: BSL-1.0
// object_map: the object at an address, and the one next to it, against a list.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "lab/layout/object_map.hpp"
#include "tests/lab/trace/seed.hpp"

namespace {

using namespace millpond::layout;

TEST(object_map, agrees_with_a_list) {
    std::mt19937_64 random(millpond::test::seed());
    object_map map;
    std::vector<live_object> live;
    for (int i = 0; i < 20000; ++i) {
        if (live.size() > 150 || (!live.empty() && random() % 3 == 0)) {
            const std::size_t victim = random() % live.size();
            map.end(map.beginning_at(live[victim].address));
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
        } else {
            const std::uint64_t bytes = random() % 20 == 0 ? 100000 + random() % 100000 : 1 + random() % 300;
            const std::uint64_t address = 0x10000 + random() % (1 << 24) / 16 * 16;
            if (map.overlapping(address, bytes) != object_map::none) continue;
            map.begin({address, bytes, 0});
            live.push_back({address, bytes, 0});
        }
        const std::uint64_t at = live.empty() || random() % 2 == 0
                                     ? 0x10000 + random() % (1 << 24)
                                     : live[random() % live.size()].address + random() % 400;
        const auto inside = std::find_if(live.begin(), live.end(), [&](const live_object& each) {
            return at >= each.address && at - each.address < each.bytes;
        });
        const object_map::found found = map.find(at);
        ASSERT_EQ(found.id != object_map::none, inside != live.end()) << std::hex << at;
        if (inside != live.end()) {
            ASSERT_EQ(map.object(found.id).address, inside->address);
            continue;
        }
        // Behind an object goes before in front of one.
        const live_object *behind = nullptr, *before = nullptr;
        for (const live_object& each : live) {
            if (at >= each.address && at - each.address - each.bytes < 64 &&
                (!behind || each.address > behind->address))
                behind = &each;
            if (each.address > at && each.address - at <= 64 && (!before || each.address < before->address))
                before = &each;
        }
        const std::uint32_t near = map.near(at, 64);
        const live_object* const expected = behind != nullptr ? behind : before;
        ASSERT_EQ(near != object_map::none, expected != nullptr) << std::hex << at;
        if (expected == nullptr) continue;
        ASSERT_EQ(map.object(near).address, expected->address) << std::hex << at;
    }
}

}  // namespace
