// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/context_router.hpp"

#include <string.h>

#include "preload/context_tree.hpp"
#include "preload/pages.hpp"

namespace millpond::trial {
namespace {

constexpr std::size_t first_nodes = std::size_t{16} << 10;

}  // namespace

bool context_router::start(const routes_view& routes, module_finder& modules) noexcept {
    routes_ = routes;
    modules_ = &modules;
    if (!make_room(first_nodes)) return false;
    if (!routes.empty()) answers_[0].pool = static_cast<std::uint8_t>(routes.header().unknown_pool);
    return true;
}

// Without memory, contexts beyond the table are not routed.
bool context_router::make_room(std::size_t nodes) noexcept {
    auto* const fresh = preload::take_pages<frame_answer>(nodes * sizeof(frame_answer));
    if (fresh == nullptr) return false;
    if (node_count_ > 0) memcpy(fresh, answers_, node_count_ * sizeof(frame_answer));
    __atomic_store_n(&answers_, fresh, __ATOMIC_RELEASE);
    __atomic_store_n(&node_count_, nodes, __ATOMIC_RELEASE);
    return true;
}

void context_router::on_node(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept {
    std::size_t nodes = node_count_;
    while (nodes <= id) nodes *= 2;
    if (nodes > node_count_ && !make_room(nodes)) return;
    answers_[id] = own_answer(return_address).after(answer_of(parent));
}

frame_answer context_router::own_answer(std::uintptr_t return_address) noexcept {
    if (return_address == preload::context_tree::cut) return {};
    if (return_address == preload::context_tree::generated) return generated();
    // The call lies before the return address, which may be another function's first byte.
    const module_finder::place place = modules_->find(return_address - 1);
    if (place.fresh && observer_ != nullptr) observer_(*place.identity);
    if (routes_.empty()) return {};
    if (!place.in_module) return generated();
    if (place.module == nullptr) {
        // The survey did not meet this module: no route names any of its subsystems.
        return {static_cast<std::uint8_t>(routes_.header().other_modules_pool), footing::owner};
    }
    const route_range* const range = routes_.find(*place.module, place.file_address);
    const frame_role role = range != nullptr ? range->role : frame_role::outside;
    if (role == frame_role::owner) return {static_cast<std::uint8_t>(range->pool), footing::owner};
    if (role == frame_role::outside && place.module->standard == 0)
        return {static_cast<std::uint8_t>(place.module->pool), footing::owner};
    if (role == frame_role::allocation) return {static_cast<std::uint8_t>(range->pool), footing::allocation};
    return {static_cast<std::uint8_t>(place.module->pool), footing::module};
}

// All code that a program generates at run time is one subsystem.
frame_answer context_router::generated() const noexcept {
    if (routes_.empty()) return {};
    return {static_cast<std::uint8_t>(routes_.header().generated_pool), footing::owner};
}

}  // namespace millpond::trial
