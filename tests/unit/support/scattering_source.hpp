// SPDX-License-Identifier: BSL-1.0
// scattering_source: an accounting_source whose blocks lie at random places of an area, at random distances.
//
//   │··│block│·········│block││block│······│block│··│       a malloc would lay them side by side, upwards
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <random>

#include "accounting_source.hpp"
#include "seed.hpp"

namespace millpond::test {

class scattering_source : public accounting_source {
  public:
    explicit scattering_source(std::size_t area_bytes = std::size_t{16} << 20)
        : area_bytes_(area_bytes), area_(static_cast<char*>(aligned_memory(area_bytes, 4096))) {}

  protected:
    [[nodiscard]] void* obtain(std::size_t bytes, std::size_t alignment) noexcept override {
        for (int attempt = 0; attempt < 1000; ++attempt) {
            const auto offset = uniform<std::size_t>(numbers_, 0, area_bytes_ - bytes) & ~(alignment - 1);
            if (is_free(area_.get() + offset, bytes)) return area_.get() + offset;
        }
        return nullptr;
    }
    void put_back(void*) noexcept override {}

  private:
    struct freed {
        void operator()(char* area) const noexcept { free_aligned(area); }
    };

    [[nodiscard]] bool is_free(char* block, std::size_t bytes) const noexcept {
        const auto above = given().lower_bound(block);
        if (above != given().end() && static_cast<char*>(above->first) < block + bytes) return false;
        if (above == given().begin()) return true;
        const auto& [below, given_there] = *std::prev(above);
        return static_cast<char*>(below) + given_there.bytes <= block;
    }

    std::size_t area_bytes_;
    std::unique_ptr<char, freed> area_;
    std::mt19937_64 numbers_ = random_numbers(7);
};

}  // namespace millpond::test
