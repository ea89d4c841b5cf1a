// SPDX-License-Identifier: BSL-1.0
#include "litter.hpp"

#include "base_pool.hpp"
#include "lab/suites/frame/noted_new_delete.hpp"
#include "millpond/bind/resource.hpp"

namespace millpond::p0089 {

void note_blocks(const point& asked, measure::littering& blocks) {
    frame::noting = &blocks;
    point once = asked;
    for (once.contender = 0; by(once) != strategy{pool_kind::new_delete, binding_kind::base, false};) ++once.contender;
    base_made = maker_of<resource<frame::noted_new_delete>>();
    once.of->run(once);
}

}  // namespace millpond::p0089
