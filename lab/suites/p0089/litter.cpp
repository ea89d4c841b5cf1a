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

void note_blocks(const point& asked, measure::littering& blocks) {
    noting = &blocks;
    point once = asked;
    for (once.strategy = 0; by(once) != strategy{pool_kind::new_delete, true, false};) ++once.strategy;
    base_made = maker_of<resource<noted_new_delete>>();
    once.of->run(once);
}

}  // namespace millpond::p0089
