// SPDX-License-Identifier: BSL-1.0
#include "lab/attribution/affinity.hpp"

#include <bit>

namespace millpond::attribution {

affinity::affinity(const std::vector<std::uint32_t>& chosen)
    : chosen_(chosen.begin(),
              chosen.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(chosen.size(), rows_max))),
      rows_(static_cast<unsigned>(chosen_.size())),
      visits_(rows_ + 1),
      met_((rows_ + std::size_t{1}) * (rows_ + 1)) {
    for (unsigned row = 0; row < rows_; ++row) {
        if (chosen_[row] >= row_of_.size())
            row_of_.resize(chosen_[row] + std::size_t{1}, static_cast<std::uint8_t>(rows_));
        row_of_[chosen_[row]] = static_cast<std::uint8_t>(row);
    }
}

void affinity::refer(window& of, std::uint64_t birth, std::uint32_t subject) {
    of.latest = birth;
    ++of.clock;
    const auto end = of.births.begin() + of.used;
    if (const auto known = std::find(of.births.begin(), end, birth); known != end) {
        of.last_uses[static_cast<std::size_t>(known - of.births.begin())] = of.clock;
        return;
    }
    unsigned slot = of.used;
    if (of.used == window_objects) {
        slot = static_cast<unsigned>(std::min_element(of.last_uses.begin(), of.last_uses.end()) - of.last_uses.begin());
        settle(of, slot);
    } else {
        ++of.used;
    }
    const std::uint8_t row = subject < row_of_.size() ? row_of_[subject] : static_cast<std::uint8_t>(rows_);
    const std::uint64_t own = std::uint64_t{1} << row;
    of.births[slot] = birth;
    of.last_uses[slot] = of.clock;
    of.rows[slot] = row;
    std::uint64_t together = 0, near = 0;
    for (unsigned other = 0; other < of.used; ++other) {
        if (other == slot) continue;
        const std::uint64_t its = std::uint64_t{1} << of.rows[other];
        const std::uint64_t apart = of.births[other] < birth ? birth - of.births[other] : of.births[other] - birth;
        const std::uint64_t is_near = apart <= near_bytes ? ~std::uint64_t{0} : 0;
        together |= its;
        near |= its & is_near;
        of.together[other] |= own;
        of.near[other] |= own & is_near;
    }
    of.together[slot] = together;
    of.near[slot] = near;
}

// Ends the visit in a slot.
void affinity::settle(const window& of, unsigned slot) {
    const unsigned row = of.rows[slot];
    ++visits_[row];
    for (std::uint64_t left = of.together[slot]; left != 0; left &= left - 1) {
        const auto other = static_cast<unsigned>(std::countr_zero(left));
        met_visits& met = met_[row * (rows_ + 1) + other];
        ++met.together;
        met.near += of.near[slot] >> other & 1;
    }
}

void affinity::finish(window& of) {
    for (unsigned slot = 0; slot < of.used; ++slot) settle(of, slot);
    of = {};
}

}  // namespace millpond::attribution
