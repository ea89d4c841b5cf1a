// SPDX-License-Identifier: BSL-1.0
#include "base_pool.hpp"

#include "lab/suites/frame/noted_new_delete.hpp"
#include "millpond/bind/resource.hpp"
#include "pools.hpp"
#include "workload.hpp"

namespace millpond::p0089 {
namespace {

template <class... Pools>
constexpr std::array<base_maker, sizeof...(Pools)> makers_of(pool_list<Pools...>) {
    return {maker_of<resource<Pools>>()...};
}

constexpr auto makers = makers_of(local_pools{});

}  // namespace

void choose_base(pool_kind chosen) {
    const auto place = static_cast<std::size_t>(chosen);
    base_made = place == 0 ? maker_of<resource<new_delete>>() : makers[place - 1];
}

void note_blocks(const point& asked, measure::heap_litter& blocks) {
    frame::noting = &blocks;
    point once = asked;
    for (once.contender = 0; by(once) != strategy{pool_kind::new_delete, binding_kind::base, false};) ++once.contender;
    base_made = maker_of<resource<frame::noted_new_delete>>();
    once.of->run(once);
}

}  // namespace millpond::p0089
