// SPDX-License-Identifier: BSL-1.0
#include "litter.hpp"

#include "base_pool.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/block/new_delete.hpp"

namespace millpond::p0089 {
namespace {

measure::littering* noting = nullptr;

// new_delete, which says what it was asked for.
class noted_new_delete : public new_delete {
  public:
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        noting->note(bytes);
        return new_delete::allocate(bytes, alignment);
    }
};

}  // namespace

littered_heap::littered_heap(const point& asked, std::optional<double> fraction) {
    if (!fraction) return;
    noting = &blocks_.emplace();
    point once = asked;
    once.by = {pool_kind::new_delete, true, false};
    once.is_for_littering = true;
    base_made = maker_of<resource<noted_new_delete>>();
    once.of->run(once);
    blocks_->hold();
    blocks_->free_fraction(*fraction, asked.seed());
}

}  // namespace millpond::p0089
