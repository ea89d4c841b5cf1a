// SPDX-License-Identifier: BSL-1.0
// context_router: maps a context's node to the pool of the subsystem that owns it, once for each new node.
//
//   node            outside ── main ── orders::book::add ── std::vector::push_back ── operator new
//   role                       owner    owner                standard                  standard
//   pool_of(node)              main's   orders::book's       its caller's              its caller's
//
// The owner of an allocation is the innermost frame that neither belongs to the standard library nor only allocates.
// Without such a frame, it is the outermost function that only allocates; without that, the innermost frame's module. A
// module owns its code that has no known function; "[generated code]" owns code without a file. A node needs only its
// parent's answer; frame_answer.hpp has the rule. Nodes may also stand for single frames (all of them children of node
// 0); walk_to_owner then combines their answers. on_node runs under the context tree's lock. pool_of is one load,
// without a lock, for ids that the finder returned. Answers lie in a table that doubles; outgrown tables stay, because
// readers may still use them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/trial/frame_answer.hpp"
#include "lab/trial/module_finder.hpp"
#include "lab/trial/routes.hpp"

namespace millpond::trial {

class context_router {
  public:
    constexpr context_router() noexcept = default;

    // Returns false without memory. `modules` and the routes must outlive the router.
    bool start(const routes_view& routes, module_finder& modules) noexcept;
    void on_node(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept;

    [[nodiscard]] std::uint32_t pool_of(std::uint32_t id) const noexcept { return answer_of(id).pool; }
    [[nodiscard]] frame_answer answer_of(std::uint32_t id) const noexcept {
        // The count is read first: the table is at least that long.
        const std::size_t count = __atomic_load_n(&node_count_, __ATOMIC_ACQUIRE);
        return id < count ? __atomic_load_n(&answers_, __ATOMIC_RELAXED)[id] : frame_answer{};
    }

    // Called with each module when a context first shows it.
    using module_observer = void (*)(const module_identity&) noexcept;
    void set_module_observer(module_observer observer) noexcept { observer_ = observer; }

  private:
    using footing = frame_answer::footing;

    frame_answer own_answer(std::uintptr_t return_address) noexcept;
    frame_answer generated() const noexcept;
    bool make_room(std::size_t nodes) noexcept;

    frame_answer* answers_ = nullptr;
    std::size_t node_count_ = 0;
    routes_view routes_;
    module_finder* modules_ = nullptr;
    module_observer observer_ = nullptr;
};

}  // namespace millpond::trial
