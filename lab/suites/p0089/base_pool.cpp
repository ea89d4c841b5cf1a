// SPDX-License-Identifier: BSL-1.0
#include "base_pool.hpp"

#include "millpond/bind/resource.hpp"
#include "pools.hpp"

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

}  // namespace millpond::p0089
